"""The contract between wfbench and its plugins: protocols and frozen types.

A plugin author needs nothing else: write a module with functions marked `@hookimpl` that return
descriptors (`CollectorSpec`, ...), point the entry-point group `wfbench` at it, and run
`wfbench plugins check NAME`. This package imports nothing of wfbench. Descriptors, errors and
`hookimpl` are cheap to import. The other names import numpy when they are first used, so that
listing plugins does not load it.
"""

# ruff: noqa: F403, F405 (`__all__` below lists the names)
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pluggy

from .claims import *
from .errors import *
from .executor import *
from .importing import *
from .notes import *
from .specs import *

if TYPE_CHECKING:
    from .env import *
    from .plan import *
    from .policy import *
    from .record import *
    from .roles import *
    from .rollout import *

hookimpl = pluggy.HookimplMarker("wfbench")
"""Marks a function of a plugin as the implementation of the hook of the same name."""

_NEEDS_NUMPY = ("env", "plan", "policy", "roles", "rollout")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module_name in _NEEDS_NUMPY:
            module = import_module(f"{__name__}.{module_name}")
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "API_FLOOR",
    "API_VERSION",
    "OWNER_VARIABLE",
    "VERDICTS",
    "Acts",
    "Arrays",
    "BatchEnv",
    "Cadence",
    "Call",
    "ClaimSpec",
    "CollectCase",
    "CollectError",
    "CollectSample",
    "Collector",
    "CollectorSpec",
    "CommandSpec",
    "CompiledStep",
    "Condition",
    "Counters",
    "DeadlineError",
    "Deadlines",
    "DecoyAction",
    "EnvInfo",
    "EnvRef",
    "EnvSpec",
    "Event",
    "Executor",
    "ExecutorError",
    "ExecutorSpec",
    "ExitCode",
    "FactorySpec",
    "Finding",
    "FindingTable",
    "GradientSample",
    "Health",
    "HealthCheckSpec",
    "Interval",
    "Lab",
    "News",
    "NotComparableError",
    "NotesModel",
    "Order",
    "Outcome",
    "Plan",
    "PluginError",
    "Policy",
    "PolicySnapshot",
    "PreparedCollector",
    "PreparedExecutor",
    "Published",
    "Reference",
    "Reporter",
    "ReporterSpec",
    "ResettableCollector",
    "Rollout",
    "Rollouts",
    "Searcher",
    "SearcherSetup",
    "SearcherSpec",
    "Shipment",
    "Spec",
    "StepArrays",
    "SteppingPolicy",
    "TrainCase",
    "TrainSample",
    "Trainer",
    "TrainerSetup",
    "TrainerSpec",
    "UpdateStats",
    "UsageError",
    "Verdict",
    "WfbenchError",
    "WorkerError",
    "WorkflowModel",
    "WorkflowSample",
    "hookimpl",
    "load_object",
    "option",
    "register_local",
    "ship_local",
    "uniform_draws",
]
