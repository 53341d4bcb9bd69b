"""Worker processes on this machine, a call each."""

from __future__ import annotations

import os
import select

from wfbench.contract import OWNER_VARIABLE, Call, ExecutorError, News
from wfbench.processes.children import Child, exit_text
from wfbench.processes.limits import THREAD_VARIABLES, usable_cores, usable_threads

_HANDOVER = 60.0
"""Seconds in which a worker must have taken a call."""
_CLOSE_GRACE = 6.0
"""Seconds in which an idle worker must have closed its collectors."""
_UNTOLD = -1
"""The key of a call of which nobody wants to hear."""
_EXIT_GRACE = 1.0
"""Grace period for an exit code after a worker has closed its connection."""


class ProcessesExecutor:
    """Hands each call to an idle worker; a worker that dies is replaced with the next call."""

    in_process = False

    def __init__(self, *, workers: int = 0, patience: float = 1800.0) -> None:
        self.width = workers or usable_cores()
        self.patience = patience
        self._idle: list[Child] = []
        self._busy: dict[int, Child] = {}

    def prepare(self, call: Call) -> None:
        """Start all workers; each runs this call before its first other one."""
        while len(self._idle) + len(self._busy) < self.width:
            self._idle.append(self._start())
            _take(self._idle[-1], _UNTOLD, call)

    def submit(self, key: int, call: Call) -> None:
        """Begin a call."""
        while self._idle and not _take(self._idle[-1], key, call):
            # It died while it had nothing to do.
            _end(self._idle.pop())
        if not self._idle:
            self._idle.append(self._start())
            _take(self._idle[-1], key, call)
        self._busy[key] = self._idle.pop()

    def wait(self, seconds: float) -> list[News]:
        """Return what calls have sent since."""
        keys = {worker.channel.fileno(): key for key, worker in self._busy.items()}
        poll = select.poll()
        for descriptor in keys:
            poll.register(descriptor, select.POLLIN)
        ready = poll.poll(seconds * 1000)
        return [news for descriptor, _ in ready for news in self._receive(keys[descriptor])]

    def cancel(self, key: int) -> None:
        """Kill the worker that runs a call."""
        _end(self._busy.pop(key))

    def close(self) -> None:
        """Kill the workers that are busy, and let the others close their collectors."""
        idle, busy, self._idle, self._busy = self._idle, self._busy, [], {}
        for worker in busy.values():
            _end(worker)
        for worker in idle:
            worker.channel.close()
        for worker in idle:
            _end(worker, _CLOSE_GRACE)

    def _receive(self, key: int) -> list[News]:
        worker = self._busy[key]
        try:
            told = [News(*one) for one in worker.channel.receive()]
        except EOFError:
            del self._busy[key]
            return [News(key, "lost", f"its worker process {_end(worker, _EXIT_GRACE)}")]
        received = [news for news in told if news.key == key]
        if received and received[-1].kind == "ended":
            self._idle.append(self._busy.pop(key))
        return received

    def _start(self) -> Child:
        # Workers that all took every core would wait for each other's threads.
        share = max(1, usable_threads() // self.width)
        variables = dict.fromkeys(THREAD_VARIABLES, str(share)) | {OWNER_VARIABLE: str(os.getpid())}
        try:
            # Standard output is for answers, so workers print to standard error.
            return Child("wfbench_executors.worker", variables, stdout=2)
        except OSError as error:
            raise ExecutorError(f"a worker process could not be started: {error}") from error


def _take(worker: Child, key: int, call: Call) -> bool:
    """Hand over a call; return whether the worker took it."""
    try:
        worker.channel.send((key, call), _HANDOVER)
    except OSError:
        return False
    return True


def _end(worker: Child, grace: float = 0.0) -> str:
    """Kill a worker unless it exits within `grace` seconds; say how it ended.

    A collector's workers in it are left to the nursery, which also removes their shared memory.
    """
    code = worker.end(grace, session=False)
    return "was killed" if code is None else exit_text(code)
