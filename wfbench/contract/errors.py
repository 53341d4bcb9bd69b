"""Errors a user can act on.

A `WfbenchError` is shown as one line, without a traceback, and ends the command with its
`exit_code`. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import signal as signals
from enum import IntEnum
from functools import partial


class ExitCode(IntEnum):
    """What a command ends with."""

    OK = 0
    REGRESSION = 1
    USAGE = 2
    TRIAL_FAILED = 3
    """Something failed, hung or is not as it should be."""
    INCONCLUSIVE = 4
    NOT_COMPARABLE = 5
    PLUGIN = 6
    BUG = 70
    """An error that wfbench does not handle; it keeps its traceback."""
    INTERRUPTED = 130
    TERMINATED = 143


class WfbenchError(Exception):
    """A handled error: one line that says what was wrong, where, and what to do next."""

    exit_code: int = ExitCode.TRIAL_FAILED


class UsageError(WfbenchError):
    """The command or the configuration asks for something that does not exist or makes no sense."""

    exit_code = ExitCode.USAGE


class NotComparableError(WfbenchError):
    """Two results differ in what was measured, or there is nothing to compare with."""

    exit_code = ExitCode.NOT_COMPARABLE


class PluginError(WfbenchError):
    """A plugin is broken, or what it built breaks the contract."""

    exit_code = ExitCode.PLUGIN


class ExecutorError(WfbenchError):
    """An executor cannot run what it was given."""


class CollectError(WfbenchError):
    """A collector could not deliver what it was asked for; it can only be closed."""


class DeadlineError(CollectError):
    """A wait reached its deadline; nothing that arrives later is ever delivered."""


class WorkerError(CollectError):
    """A worker or one of its environments failed.

    It carries only text and numbers, so that it can be pickled whatever the cause was.
    """

    def __init__(
        self,
        cause: str,
        *,
        worker: int,
        env: int | None = None,
        seed: int | None = None,
        exitcode: int | None = None,
        traceback: str = "",
    ) -> None:
        self.cause = cause
        self.worker = worker
        self.env = env
        self.seed = seed
        self.exitcode = exitcode
        self.traceback = traceback
        places = {"worker": worker, "env": env, "seed": seed}
        where = ", ".join(f"{k} {v}" for k, v in places.items() if v is not None)
        super().__init__(f"{where}: {cause}")

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the worker, if one did."""
        if self.exitcode is None or self.exitcode >= 0:
            return None
        try:
            return signals.Signals(-self.exitcode).name
        except ValueError:
            return f"signal {-self.exitcode}"

    def __reduce__(self) -> tuple[object, ...]:
        fields = ("worker", "env", "seed", "exitcode", "traceback")
        rebuild = partial(WorkerError, **{name: getattr(self, name) for name in fields})
        return rebuild, (self.cause,)
