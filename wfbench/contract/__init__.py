"""The contract between wfbench and its plugins: protocols and frozen types.

A plugin author needs nothing else: write a module with functions marked `@hookimpl` that return
descriptors (`CollectorSpec`, ...), point the entry-point group `wfbench` at it, and run
`wfbench plugins check NAME`. This package imports nothing of wfbench, and neither torch nor numba.
"""

from __future__ import annotations

import pluggy

from .env import BatchEnv, EnvInfo, StepArrays, WorkflowModel
from .errors import (
    CollectError,
    DeadlineError,
    NotComparableError,
    PluginError,
    UsageError,
    WfbenchError,
    WorkerError,
)
from .plan import Deadlines, EnvRef, Plan, load_object, uniform_draws
from .policy import Acts, Policy, PolicySnapshot
from .roles import (
    Arrays,
    Collector,
    Order,
    Outcome,
    Reporter,
    Searcher,
    SearcherSetup,
    Trainer,
    TrainerSetup,
    UpdateStats,
)
from .rollout import Counters, Rollout
from .specs import (
    API_FLOOR,
    API_VERSION,
    ClaimSpec,
    CollectorSpec,
    CommandSpec,
    EnvSpec,
    Event,
    FactorySpec,
    Health,
    HealthCheckSpec,
    ReporterSpec,
    SearcherSpec,
    Spec,
    TrainerSpec,
)

hookimpl = pluggy.HookimplMarker("wfbench")
"""Marks a function of a plugin as the implementation of the hook of the same name."""

__all__ = [
    "API_FLOOR",
    "API_VERSION",
    "Acts",
    "Arrays",
    "BatchEnv",
    "ClaimSpec",
    "CollectError",
    "Collector",
    "CollectorSpec",
    "CommandSpec",
    "Counters",
    "DeadlineError",
    "Deadlines",
    "EnvInfo",
    "EnvRef",
    "EnvSpec",
    "Event",
    "FactorySpec",
    "Health",
    "HealthCheckSpec",
    "NotComparableError",
    "Order",
    "Outcome",
    "Plan",
    "PluginError",
    "Policy",
    "PolicySnapshot",
    "Reporter",
    "ReporterSpec",
    "Rollout",
    "Searcher",
    "SearcherSetup",
    "SearcherSpec",
    "Spec",
    "StepArrays",
    "Trainer",
    "TrainerSetup",
    "TrainerSpec",
    "UpdateStats",
    "UsageError",
    "WfbenchError",
    "WorkerError",
    "WorkflowModel",
    "hookimpl",
    "load_object",
    "uniform_draws",
]
