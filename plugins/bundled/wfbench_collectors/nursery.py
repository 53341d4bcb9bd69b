"""The process that is the parent of all workers of one collector.

It imports what workers need once and forks them, so that hundreds start in a moment, or starts a
fresh interpreter for each. It reaps them and reports how they ended. It has no other thread and no
other work, so when its own collector is gone (the end of the control stream, whatever the reason)
it kills every worker at once, even one that is busy in an environment. Should the nursery itself be
killed, the kernel kills its workers (Linux), or they end when they next listen (elsewhere).
"""

from __future__ import annotations

import fcntl
import gc
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from time import monotonic, sleep

from wfbench.processes.channel import Channel
from wfbench.processes.children import python_command
from wfbench.processes.leftovers import remove_stale_segments
from wfbench.processes.segments import segment_dir

COMMAND = struct.Struct("<Bii")
"""Command, worker index, signal number. A SPAWN carries the worker's two pipe ends with it."""
SPAWN, SIGNAL, BYE = 1, 2, 3

_ORPHAN_GRACE = 2.0


def main(setup: tuple[int, int, str, Sequence[str]]) -> None:
    """Serve commands until the collector says goodbye or is gone; never return.

    `setup` is the control stream, the collector's pid, the start method and modules to import.
    """
    descriptor, parent, method, preload = setup
    try:
        control = socket.socket(fileno=descriptor)
        _settle()
        _preload(control, preload)
        nursery = _Nursery(control, fresh=method == "spawn")
        if not nursery.serve():
            _reap_after(parent)
    finally:
        if os.getpgrp() == os.getpid():
            # Whatever an environment started and left behind is in this group too.
            os.killpg(0, signal.SIGKILL)
        os._exit(0)


def _settle() -> None:
    """Leave Ctrl-C and standard output to the collector."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    os.dup2(2, 1)


def _preload(control: socket.socket, modules: Sequence[str]) -> None:
    """Import modules and warm them up (see `wfbench.contract.env`), once for all workers.

    Nothing is sent to a nursery that has not reported ready, so the only thing that can happen on
    the control stream before is its end: a signal, which ends even an import that never returns.
    """
    fcntl.fcntl(control, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(control, fcntl.F_GETFL)
    fcntl.fcntl(control, fcntl.F_SETFL, flags | os.O_ASYNC)
    for module in modules:
        # A worker imports it again and reports what is wrong with it.
        with suppress(Exception, SystemExit):
            imported = import_module(module)
            if hasattr(imported, "warm_up"):
                imported.warm_up()
    fcntl.fcntl(control, fcntl.F_SETFL, flags)
    gc.collect()
    gc.freeze()
    with suppress(OSError):
        Channel(control).send("ready")


class _Nursery:
    def __init__(self, control: socket.socket, *, fresh: bool) -> None:
        self._control = control
        self._reports = Channel(control)
        self._fresh = fresh
        self._children: dict[int, int] = {}
        self._bell, self._clapper = socket.socketpair()
        for end in (self._bell, self._clapper):
            end.settimeout(0.0)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._clapper.fileno(), warn_on_full_buffer=False)

    def serve(self) -> bool:
        """Serve commands, then kill every worker; return whether the collector said goodbye."""
        command: int | None = 0
        while command is not None and command != BYE:
            ready = select.select([self._control, self._bell], [], [])[0]
            if self._bell in ready:
                self._bell.recv(4096)
                self._reap(os.WNOHANG)
            if self._control in ready:
                command = self._obey()
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        while self._children:
            self._reap(0)
        return command == BYE

    def _obey(self) -> int | None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, COMMAND.size, 2)
        except ConnectionResetError:
            return None
        if len(data) < COMMAND.size:
            return None
        command, worker, number = COMMAND.unpack(data)
        if command == SPAWN:
            self._spawn(worker, descriptors)
        elif command == SIGNAL:
            for pid, child in self._children.items():
                if child == worker:
                    os.kill(pid, number)
        return int(command)

    def _spawn(self, worker: int, descriptors: Sequence[int]) -> None:
        nursery = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(worker, descriptors, nursery)
        for descriptor in descriptors:
            os.close(descriptor)
        self._children[pid] = worker

    def _become_worker(self, worker: int, descriptors: Sequence[int], nursery: int) -> None:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (self._control, self._bell, self._clapper):
                end.close()
            setup = (descriptors, worker, nursery)
            if self._fresh:
                for descriptor in descriptors:
                    os.set_inheritable(descriptor, True)  # noqa: FBT003
                os.execv(sys.executable, python_command(f"{__package__}.worker", setup))  # noqa: S606
            from .worker import main as work

            work(setup)
        finally:
            os._exit(70)

    def _reap(self, flags: int) -> None:
        while self._children:
            pid, status = os.waitpid(-1, flags)
            if pid == 0:
                return
            if pid in self._children:
                code = os.waitstatus_to_exitcode(status)
                with suppress(OSError):
                    self._reports.send((self._children.pop(pid), code))


def _reap_after(parent: int) -> None:
    """Remove the shared memory of the collector if it died."""
    until = monotonic() + _ORPHAN_GRACE
    while os.getppid() == parent and monotonic() < until:
        sleep(0.02)
    remove_stale_segments()
    if os.getppid() != parent:
        # A forked nursery maps its collector's segments, which holds their lock for as long as it
        # lives; but their owner is dead.
        for path in segment_dir().glob(f"wfbench_{parent}_*"):
            path.unlink(missing_ok=True)
