"""The promises of a collector, each with a check that tries to break it."""

from __future__ import annotations

from wfbench.testing.harness.subject import COLLECTOR

from . import delivery, faults, isolation, lifecycle, resets

__all__ = ["COLLECTOR", "delivery", "faults", "isolation", "lifecycle", "resets"]
