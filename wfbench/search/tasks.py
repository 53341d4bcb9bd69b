"""One order to train and what comes of it, as data that can be sent to any process and back."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wfbench.contract import Arrays, EnvInfo, Order, PolicySnapshot, WfbenchError
from wfbench.store.events import ORDER, UpdateFinished, WorkflowResult
from wfbench.store.sweeps import Sweep

from .budget import Pace, WorkflowBudget


@dataclass(frozen=True)
class TrainingTask:
    """One order to train, or all of them at once."""

    workflow: int
    order: Order
    """Empty: every order at once."""
    seed: int
    budget: WorkflowBudget
    stage: str = ORDER
    """What the training is for, as `WorkflowResult.stage`."""
    inherited_from: int | None = None
    inherit: Arrays | None = None
    """The trainer's state to start from."""
    batch: tuple[int, int] = (0, 1)
    """The first workflow of those that were asked for together, and how many they are."""
    pace: Pace = field(default_factory=Pace)
    until: float | None = None
    """When it must have ended, in seconds since 1970; None means no limit."""


@dataclass(frozen=True)
class Update:
    """One rollout and what came of it."""

    event: UpdateFinished
    lap: Mapping[str, float]
    """Seconds by phase since the last update."""


@dataclass(frozen=True)
class Trained:
    """A training that ended, as plain data."""

    result: WorkflowResult
    policy: PolicySnapshot
    """The policy that made the last rollout: the one that was judged."""
    state: Arrays
    info: EnvInfo
    pace: Pace
    lap: Mapping[str, float]
    seconds: float
    """Wall-clock seconds of the training, with its evaluation."""
    sweeps: Mapping[str, Sweep] = field(default_factory=dict)
    """Evaluations on common seeds by name, of a joint run."""


class BugError(Exception):
    """An unexpected error in another process; holds its traceback."""


class Failure:
    """The error that ended a training. Can be pickled, whatever the error is like."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return Failure, (_portable(self.error),)


def _portable(error: Exception) -> Exception:
    """Return the error if it can be pickled, otherwise one with its text."""
    if isinstance(error, WfbenchError):
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        except Exception:  # noqa: BLE001 - a plugin's error may be of any kind
            told = WfbenchError(str(error))
            told.exit_code = error.exit_code
            return told
        return error
    return BugError("".join(traceback.format_exception(error)))
