"""Start interpreters, tie them to their parent, and find out how they ended."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import IO

from wfbench.contract import OWNER_VARIABLE

from .channel import Channel
from .limits import ONE_THREAD

_PR_SET_PDEATHSIG = 1
_GRACE = 5.0
"""Seconds until a killed process must be gone."""


def python_command(module: str, argument: object) -> list[str]:
    """Return the command that runs `main(argument)` of a module in a new interpreter.

    The argument is anything JSON holds. The interpreter imports what this one can.
    """
    code = (
        "import json,sys;sys.path[:]=json.loads(sys.argv[2]);"
        f"from {module} import main;main(json.loads(sys.argv[1]))"
    )
    return [sys.executable, "-c", code, json.dumps(argument), json.dumps(sys.path)]


def worker_variables(owner: int) -> dict[str, str]:
    """Return the environment variables of a worker: one thread, and whom it works for."""
    return ONE_THREAD | {OWNER_VARIABLE: str(owner)}


def die_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when its parent dies, where it can.

    Exits at once if `parent` is given and is not the parent any more.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def exit_code(process: subprocess.Popen[bytes], *, wait: bool = False) -> int | None:
    """Return the exit code of a process, None while it runs; `wait` waits for its end.

    The process is not reaped. Until it is, its number cannot be given to another process, so that
    `end_session` cannot hit a stranger.
    """
    if process.returncode is not None:
        return process.returncode
    flags = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
    status = os.waitid(os.P_PID, process.pid, flags)
    if status is None:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


def exit_text(code: int) -> str:
    """Say how a process with this exit code ended."""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def end_session(leader: int) -> None:
    """Kill every process of the session that `leader`, not yet reaped, was started to lead."""
    import psutil

    for pid in psutil.pids():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)


class Child:
    """A new interpreter that runs `main` of a module, or a script, and a channel to it.

    Its `main` gets its end of the channel by `parent_channel`. A script gets the descriptor as its
    argument and imports what its environment says. It leads a session of its own.
    """

    def __init__(
        self,
        module: str | Path,
        variables: Mapping[str, str],
        *,
        stdout: int = subprocess.DEVNULL,
        stderr: IO[bytes] | None = None,
    ) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self.process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
                    _command(module, str(theirs.fileno())),
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                    env={**os.environ, **variables},
                )
        except BaseException:
            ours.close()
            raise
        self.channel = Channel(ours)

    def end(self, grace: float = 0.0, *, session: bool = True) -> int | None:
        """Kill it unless it exits within `grace` seconds; return its exit code, None if killed.

        With `session`, everything in its session is killed, else only its process group.
        """
        self.channel.close()
        until = monotonic() + grace
        while (code := exit_code(self.process)) is None and monotonic() < until:
            sleep(0.01)
        if session:
            end_session(self.process.pid)
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(_GRACE)
        return code


def _command(module: str | Path, descriptor: str) -> list[str]:
    if isinstance(module, Path):
        return [sys.executable, str(module), descriptor]
    return python_command(module, descriptor)


def parent_channel(descriptor: str) -> Channel:
    """Return the child's end of its channel; called by `main` in a `Child`.

    From then on this process ends when the one that started it does.
    """
    die_with_parent()
    return Channel(socket.socket(fileno=int(descriptor)))
