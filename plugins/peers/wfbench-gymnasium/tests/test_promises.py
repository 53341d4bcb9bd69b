"""The collectors keep the contract's promises, but for those they declare that they cannot."""

from __future__ import annotations

from wfbench.testing import CollectorConformance


class TestSync(CollectorConformance):
    collector = "gym-sync"


class TestAsync(CollectorConformance):
    collector = "gym-async"
    patience = 40.0


class TestAsyncByPipe(CollectorConformance):
    collector = "gym-async"
    options = {"shared_memory": False}  # noqa: RUF012 (never changed)
    patience = 40.0
