"""The collector's handle on its nursery: start it, command it, end it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep

from wfbench.contract import CollectError, DeadlineError, UsageError
from wfbench.processes.channel import Channel
from wfbench.processes.children import python_command, worker_variables

from . import nursery

_early: dict[tuple[str, ...], Nursery] = {}
"""Nurseries that were started before a collector needs them, by method and modules."""


@contextmanager
def started_early(method: str, preload: Sequence[str]) -> Iterator[None]:
    """Start a nursery for the first `take_nursery` inside that asks for the same; end it if none.

    A fork copies this process as it is, so it is left until it is needed.
    """
    key = (method, *preload)
    if method == "fork" or key in _early:
        yield
        return
    with suppress(OSError):  # the collector tries again, and tells what is wrong
        _early[key] = Nursery(method, preload)
    try:
        yield
    finally:
        unused = _early.pop(key, None)
        if unused is not None:
            unused.end(0.0)


def take_nursery(method: str, preload: Sequence[str], until: float) -> Nursery:
    """Return a nursery that is ready, one that was started early if there is one."""
    nursery = _early.pop((method, *preload), None) or Nursery(method, preload)
    nursery.greet(until)
    return nursery


class Nursery:
    """A nursery that has been started. `method` is fork, forkserver or spawn."""

    def __init__(self, method: str, preload: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        self._control = ours
        self._reports = Channel(ours)
        self._process: subprocess.Popen[bytes] | None = None
        self.exitcode: int | None = None
        with theirs:
            try:
                if method == "fork":
                    self.pid = self._fork(theirs, preload)
                else:
                    self.pid = self._execute(theirs, method, preload)
            except BaseException:
                ours.close()
                raise

    def greet(self, until: float) -> None:
        """Wait until it is ready; one that does not get ready is ended."""
        try:
            self._greet(until)
        except BaseException:
            self.end(0.0)
            raise

    def fileno(self) -> int:
        """Return the descriptor that is readable when an exit can be read."""
        return self._control.fileno()

    def spawn(self, worker: int, descriptors: tuple[int, int], until: float) -> None:
        """Start a worker that reads requests from the first and replies to the second."""
        self._control.settimeout(max(0.001, until - monotonic()))
        command = nursery.COMMAND.pack(nursery.SPAWN, worker, 0)
        try:
            socket.send_fds(self._control, [command], list(descriptors))
        except TimeoutError:
            raise DeadlineError(f"worker {worker} could not be started in time") from None
        except OSError as error:
            raise CollectError(f"worker {worker} could not be started: {error}") from error

    def signal(self, worker: int, number: signal.Signals) -> None:
        """Send a signal to a worker, if it still lives."""
        self._command(nursery.SIGNAL, worker, number)

    def exits(self) -> dict[int, int]:
        """Return the workers that ended since the last call with their exit codes."""
        exits: dict[int, int] = {}
        self._control.settimeout(0.0)
        try:
            while reports := self._reports.receive():
                exits.update(reports)
        except EOFError:
            self._wait(0.5)
        return exits

    def end(self, timeout: float) -> None:
        """End the nursery and with it whatever worker is left, within `timeout` or by force."""
        until = monotonic() + timeout
        self._command(nursery.BYE)
        if not self._wait(max(0.0, until - monotonic())):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._wait(1.0)
        self._control.close()

    def _greet(self, until: float) -> None:
        try:
            self._reports.recv(max(0.0, until - monotonic()))
        except TimeoutError:
            late = "the workers' modules were not imported within the start deadline"
            raise DeadlineError(late) from None
        except EOFError:
            self._wait(1.0)
            ended = f"the process that starts workers ended with {self.exitcode}"
            raise CollectError(ended) from None

    def _command(self, command: int, worker: int = 0, number: int = 0) -> None:
        self._control.settimeout(0.2)
        with suppress(OSError):
            self._control.sendall(nursery.COMMAND.pack(command, worker, number))

    def _execute(self, theirs: socket.socket, method: str, preload: Sequence[str]) -> int:
        descriptor = theirs.fileno()
        setup = [descriptor, os.getpid(), method, list(preload) if method == "forkserver" else []]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            python_command(nursery.__name__, setup),
            stdin=subprocess.DEVNULL,
            pass_fds=(descriptor,),
            env=os.environ | worker_variables(os.getpid()),
            process_group=0,
        )
        return self._process.pid

    def _fork(self, theirs: socket.socket, preload: Sequence[str]) -> int:
        refuse_fork()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():
            # Other Python threads were ruled out; native pools survive a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            try:
                _close_all_but(theirs.fileno())
                os.environ.update(worker_variables(parent))
                nursery.main((theirs.fileno(), parent, "fork", preload))
            finally:
                os._exit(70)
        return pid

    def _wait(self, timeout: float) -> bool:
        """Reap the nursery; return whether it has ended."""
        until = monotonic() + timeout
        while self.exitcode is None:
            if self._process is not None:
                self.exitcode = self._process.poll()
            else:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.exitcode = os.waitstatus_to_exitcode(status)
            if self.exitcode is None:
                if monotonic() >= until:
                    return False
                sleep(0.002)
        return True


def refuse_fork() -> None:
    """Raise UsageError if a fork could copy a lock that nobody would ever release."""
    reason = ""
    if "torch" in sys.modules:
        reason = "torch is loaded and its threads do not survive a fork"
    elif threading.active_count() > 1:
        names = sorted(t.name for t in threading.enumerate() if t is not threading.main_thread())
        reason = f"other threads are running ({', '.join(names)})"
    if reason:
        raise UsageError(f"start_method=fork is refused: {reason}; use start_method=forkserver")


def _close_all_but(kept: int) -> None:
    """Close every descriptor of the collector, and read from nowhere."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, kept)
    os.closerange(kept + 1, limit)
