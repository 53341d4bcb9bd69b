"""Worker processes on this machine, a call each."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from time import monotonic, sleep

from wfbench.contract import OWNER_VARIABLE, Call, ExecutorError, News

from .wire import Inbox, encoded

_CODE = "import sys; from wfbench_executors.worker import main; main(int(sys.argv[1]))"
_HANDOVER = 60.0
"""Seconds in which a worker must have taken a call."""
_LAST_WORD = 1.0
"""Seconds in which one that has closed its connection says how it ends."""
_GRACE = 5.0
"""Seconds a process that was killed has for being gone."""


class ProcessesExecutor:
    """Hands each call to an idle worker; a worker that dies is replaced with the next call."""

    in_process = False

    def __init__(self, *, workers: int = 0, patience: float = 1800.0) -> None:
        self.width = workers or _cores()
        self.patience = patience
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}

    def submit(self, key: int, call: Call) -> None:
        """Begin a call."""
        message = encoded(call)
        while self._idle:
            worker = self._idle.pop()
            if worker.take(message):
                self._busy[key] = worker
                return
            # It died while it had nothing to do.
            worker.end()
        self._busy[key] = _Worker()
        self._busy[key].take(message)

    def wait(self, seconds: float) -> list[News]:
        """What was heard since."""
        keys = {worker.fileno(): key for key, worker in self._busy.items()}
        poll = select.poll()
        for descriptor in keys:
            poll.register(descriptor, select.POLLIN)
        ready = poll.poll(seconds * 1000)
        return [news for descriptor, _ in ready for news in self._hear(keys[descriptor])]

    def cancel(self, key: int) -> None:
        """Kill whoever runs a call."""
        self._busy.pop(key).end()

    def close(self) -> None:
        """Kill every worker."""
        workers, self._idle, self._busy = [*self._idle, *self._busy.values()], [], {}
        for worker in workers:
            worker.end()

    def _hear(self, key: int) -> list[News]:
        worker = self._busy[key]
        try:
            heard = [News(key, kind, value) for kind, value in worker.inbox.receive()]
        except EOFError:
            del self._busy[key]
            return [News(key, "lost", f"its worker process {worker.end(_LAST_WORD)}")]
        if heard and heard[-1].kind == "ended":
            self._idle.append(self._busy.pop(key))
        return heard


class _Worker:
    """A process in a group of its own, and the connection to it.

    Whatever it starts in that group is killed with it. A collector's workers are not in it, but end
    when their collector is gone.
    """

    def __init__(self) -> None:
        self._stream, theirs = socket.socketpair()
        self._stream.settimeout(_HANDOVER)
        self.inbox = Inbox(self._stream)
        path = os.pathsep.join(entry for entry in sys.path if entry)
        try:
            with theirs:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-c", _CODE, str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # standard output is for answers
                    start_new_session=True,
                    env={**os.environ, "PYTHONPATH": path, OWNER_VARIABLE: str(os.getpid())},
                )
        except OSError as error:
            self._stream.close()
            raise ExecutorError(f"a worker process could not be started: {error}") from error

    def fileno(self) -> int:
        """Readable when there is something to hear."""
        return self._stream.fileno()

    def take(self, message: bytes) -> bool:
        """Hand over a call; False if nobody takes it."""
        try:
            self._stream.sendall(message)
        except OSError:
            return False
        return True

    def end(self, grace: float = 0.0) -> str:
        """Kill it, unless it ends within `grace` seconds; how it ended."""
        self._stream.close()
        until = monotonic() + grace
        while (code := self._ended()) is None and monotonic() < until:
            sleep(0.01)
        # It is not reaped yet, so no other group can have its number.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(_GRACE)
        return "was killed" if code is None else _exit(code)

    def _ended(self) -> int | None:
        status = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if status is None:
            return None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


def _exit(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    return f"was ended by {signal.Signals(-code).name}"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
