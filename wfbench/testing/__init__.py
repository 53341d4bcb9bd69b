"""The conformance kit: tests that a plugin keeps the contract's promises. For plugin tests.

The kits are imported when they are first used: reports need only the types of their results.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .promise import Progress, Promise, PromiseResult

if TYPE_CHECKING:
    from .collector_kit import CollectorConformance, check_collector
    from .env_kit import check_env
    from .searcher_kit import check_searcher
    from .trainer_kit import check_trainer

__all__ = [
    "CollectorConformance",
    "Progress",
    "Promise",
    "PromiseResult",
    "check_collector",
    "check_env",
    "check_searcher",
    "check_trainer",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kit = "collector" if name == "CollectorConformance" else name.removeprefix("check_")
    return getattr(import_module(f"{__name__}.{kit}_kit"), name)
