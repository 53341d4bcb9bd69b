"""Worker processes that a library started, one per environment: notice a death, end them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Any

from wfbench.contract import Plan, UsageError, WfbenchError, WorkerError
from wfbench.processes.children import exit_text

from .guarded import EnvFault

EXIT_REPORT = 1.0
"""Grace period for an exit code after a worker's pipe has ended."""


def death(
    processes: Sequence[BaseProcess], plan: Plan, library: str, wait: float = EXIT_REPORT
) -> WorkerError | None:
    """Return how a worker died, or None if none has after `wait` seconds."""
    until = monotonic() + wait
    while True:
        for index, process in enumerate(processes):
            if process.exitcode is not None:
                return death_of(index, process.exitcode, plan, library)
        if monotonic() > until or not processes:
            return None
        processes[0].join(0.02)


def death_of(index: int, exitcode: int, plan: Plan, library: str) -> WorkerError:
    """Return the error for a worker that has ended, which is that of environment `index`."""
    left = f"if it raised something, {library} left it on standard error"
    return WorkerError(
        f"{exit_text(exitcode)}; {left}",
        worker=index,
        env=index,
        seed=plan.env_seeds[index],
        exitcode=exitcode,
    )


def call_library(
    method: Callable[[], Any],
    processes: Callable[[], Sequence[BaseProcess]],
    plan: Plan,
    *,
    name: str,
    library: str,
) -> Any:
    """Call a method of a library that has no error of its own for a worker that died.

    `processes` returns the workers that there are when the call has failed.
    """
    try:
        return method()
    except (WfbenchError, EnvFault):
        raise
    except Exception as error:
        raise death(processes(), plan, library) or UsageError(
            f"{name}: {type(error).__name__}: {error}"
        ) from error


def kill(
    processes: Sequence[BaseProcess], pipes: Iterable[Connection | None], limit: float
) -> None:
    """End the workers that are left within `limit` seconds, and close the pipes to them."""
    until = monotonic() + limit
    for process in processes:
        if process.is_alive():
            process.kill()
    for process in processes:
        process.join(max(0.0, until - monotonic()))
    for pipe in pipes:
        if pipe is not None and not pipe.closed:
            pipe.close()
