"""Errors a user can act on.

A `WfbenchError` is shown as one line, without a traceback, and ends the command with its
`exit_code`. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import signal as signals


class WfbenchError(Exception):
    """A handled error: one line that says what was wrong, where, and what to do next."""

    exit_code = 3


class UsageError(WfbenchError):
    """The command or the configuration asks for something that does not exist or makes no sense."""

    exit_code = 2


class NotComparableError(WfbenchError):
    """Two results differ in what was measured, or there is nothing to compare with."""

    exit_code = 5


class PluginError(WfbenchError):
    """A plugin is broken, or what it built breaks the contract."""

    exit_code = 6


class ExecutorError(WfbenchError):
    """An executor cannot run what it was given."""


class CollectError(WfbenchError):
    """A collector could not deliver what it was asked for. Its collector can only be closed."""


class DeadlineError(CollectError):
    """A wait reached its deadline; nothing that arrives later is ever delivered."""


class WorkerError(CollectError):
    """A worker or one of its environments failed.

    Carries only text and numbers, so it can be raised for any cause, picklable or not.
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
        super().__init__(self._line())

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the worker, if one did."""
        if self.exitcode is None or self.exitcode >= 0:
            return None
        try:
            return signals.Signals(-self.exitcode).name
        except ValueError:
            return f"signal {-self.exitcode}"

    def _line(self) -> str:
        where = f"worker {self.worker}"
        if self.env is not None:
            where += f", env {self.env}"
        if self.seed is not None:
            where += f", seed {self.seed}"
        return f"{where}: {self.cause}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_worker_error, (
            self.cause,
            self.worker,
            self.env,
            self.seed,
            self.exitcode,
            self.traceback,
        )


def _rebuild_worker_error(
    cause: str,
    worker: int,
    env: int | None,
    seed: int | None,
    exitcode: int | None,
    traceback: str,
) -> WorkerError:
    return WorkerError(
        cause, worker=worker, env=env, seed=seed, exitcode=exitcode, traceback=traceback
    )
