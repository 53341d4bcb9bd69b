"""One order to train and what comes of it: data that can cross to any process and back."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wfbench.contract import Arrays, EnvInfo, Order, PolicySnapshot, WfbenchError

from .budget import Pace, WorkflowBudget
from .results import WorkflowResult


@dataclass(frozen=True)
class Task:
    """One order to train."""

    workflow: int
    order: Order
    seed: int
    budget: WorkflowBudget
    inherited_from: int | None = None
    inherit: Arrays | None = None
    batch: tuple[int, int] = (0, 1)
    """The first workflow of those that were asked together, and how many they are."""
    pace: Pace = field(default_factory=Pace)
    until: float | None = None
    """When it must have ended, in seconds of the clock on the wall; None: whenever."""


@dataclass(frozen=True)
class Update:
    """One rollout and what came of it."""

    values: Mapping[str, Any]
    lap: Mapping[str, float]
    """Seconds by phase since the last one."""


@dataclass(frozen=True)
class Trained:
    """A trained order, as plain data."""

    result: WorkflowResult
    policy: PolicySnapshot
    """The policy that made the last rollout: the one that was judged."""
    state: Arrays
    info: EnvInfo
    pace: Pace
    lap: Mapping[str, float]


class BugError(Exception):
    """Something that wfbench does not handle was raised in another process; has its traceback."""


class Failure:
    """What ended a training. It can cross to another process, whatever the error is like."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return Failure, (_portable(self.error),)


def _portable(error: Exception) -> Exception:
    """The error, or what can be told of it where it is not known."""
    if isinstance(error, WfbenchError):
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except Exception:  # noqa: BLE001 - a plugin's error may be of any kind
            told = WfbenchError(str(error))
            told.exit_code = error.exit_code
            return told
        return error
    return BugError("".join(traceback.format_exception(error)))
