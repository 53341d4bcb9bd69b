"""The promises of a collector, each with a check that tries to break it."""

from __future__ import annotations

from . import delivery, faults, isolation, leaks, life, restarts
from .catalogue import COLLECTOR

__all__ = ["COLLECTOR", "delivery", "faults", "isolation", "leaks", "life", "restarts"]
