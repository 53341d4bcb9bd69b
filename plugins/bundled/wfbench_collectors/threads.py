"""Functions in threads, waited for with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import perf_counter

from wfbench.contract import DeadlineError
from wfbench.processes.compile_time import compile_seconds

_LEAVING = 1.0
"""Grace period for tasks that are no longer wanted."""


class ThreadTask(threading.Thread):
    """A function in a daemon thread; it calls `beat` whenever it makes progress."""

    def __init__(
        self, function: Callable[[ThreadTask], None], finished: SimpleQueue[ThreadTask]
    ) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._finished = finished
        self.wanted = True
        self.last_beat = _counted(perf_counter())
        self.error: BaseException | None = None

    def beat(self, now: float) -> bool:
        """Report progress; return False if the result is no longer wanted."""
        self.last_beat = _counted(now)
        return self.wanted

    def run(self) -> None:
        """Call the function; keep what it raises for the waiting thread."""
        try:
            self._function(self)
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self.error = error
        finally:
            self._finished.put(self)


def _counted(now: float) -> float:
    """Return the time of a clock that stands still while this process compiles."""
    return now - compile_seconds()


def run_all(functions: Sequence[Callable[[ThreadTask], None]], limit: float, what: str) -> None:
    """Run the functions at the same time, until all are done or one has failed.

    Raise what the first to fail raised, or DeadlineError once one has not called `beat` for `limit`
    seconds, without those in which this process compiled. A thread that hangs cannot be ended: it
    is abandoned, and its results are ignored.
    """
    finished: SimpleQueue[ThreadTask] = SimpleQueue()
    pending = {ThreadTask(function, finished) for function in functions}
    for task in pending:
        task.start()
    try:
        while pending:
            wait = min(task.last_beat for task in pending) + limit - _counted(perf_counter())
            try:
                done = finished.get(timeout=max(wait, 0.0))
            except Empty:
                if wait > 0:
                    continue
                message = f"{what} took longer than its deadline of {limit:g} s"
                raise DeadlineError(message) from None
            pending.remove(done)
            if done.error is not None:
                raise done.error
    finally:
        for task in pending:
            task.wanted = False
        give_up = perf_counter() + min(_LEAVING, limit)
        for task in pending:
            task.join(max(0.0, give_up - perf_counter()))
