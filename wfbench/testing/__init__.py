"""The conformance kit: checks that a plugin keeps the contract's promises. For plugin tests."""

from __future__ import annotations

from .collector_kit import CollectorConformance, check_collector
from .env_kit import check_env
from .promise import Progress, Promise
from .searcher_kit import check_searcher
from .trainer_kit import check_trainer

__all__ = [
    "CollectorConformance",
    "Progress",
    "Promise",
    "check_collector",
    "check_env",
    "check_searcher",
    "check_trainer",
]
