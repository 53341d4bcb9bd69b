"""The promises are kept, but for those that the library cannot keep and that are declared."""

from __future__ import annotations

from wfbench.testing import CollectorConformance


class TestParallel(CollectorConformance):
    collector = "torchrl-parallel"
    patience = 45.0


class TestCollector(CollectorConformance):
    collector = "torchrl-collector"
    patience = 45.0
