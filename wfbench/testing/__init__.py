"""The conformance kit: checks that a plugin keeps the contract's promises. For plugin tests."""

from __future__ import annotations

from .collector_kit import CollectorConformance, check_collector
from .promise import Progress, Promise

__all__ = ["CollectorConformance", "Progress", "Promise", "check_collector"]
