"""Work in a fresh interpreter that may hang or die without taking us along."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

import psutil

_PR_SET_PDEATHSIG = 1


class IsolationError(Exception):
    """The other process gave no answer; the message says why."""


def python_command(module: str, argument: str) -> list[str]:
    """How to run `main(argument)` of a module in a new interpreter."""
    code = f"import sys; from {module} import main; main(sys.argv[1])"
    return [sys.executable, "-c", code, argument]


def python_environment() -> dict[str, str]:
    """An environment in which a new interpreter can import whatever this one can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def ended(process: subprocess.Popen[bytes], *, wait: bool = False) -> int | None:
    """The exit code of a process that has ended, else None; `wait` waits for its end.

    The process is not reaped. As long as it is not, its number cannot be given to another process,
    and `end_session` cannot hit a stranger.
    """
    if process.returncode is not None:
        return process.returncode
    flags = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
    status = os.waitid(os.P_PID, process.pid, flags)
    if status is None:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


def end_session(leader: int) -> None:
    """Kill every process of the session that `leader`, not yet reaped, was started to lead."""
    for pid in psutil.pids():
        try:
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


class Isolated:
    """A process that runs `main` of a module, and a connection to it.

    The module's `main` takes the number of its end of the connection, see `inside`; `variables` are
    added to its environment. It leads a session of its own: whatever it started ends with it.
    """

    def __init__(self, module: str, variables: Mapping[str, str] | None = None) -> None:
        self._connection, theirs = Pipe()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        with theirs:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(  # noqa: S603 (ours)
                python_command(module, str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
                env={**python_environment(), **(variables or {})},
            )

    def ask(self, question: Any, limit: float) -> Any:
        """The answer to a question; IsolationError if there is none within `limit` seconds."""
        try:
            self._connection.send(question)
            if self._connection.poll(limit):
                return self._connection.recv()
        except (EOFError, OSError):
            raise IsolationError(self._death()) from None
        raise IsolationError(f"hung: nothing happened for {limit:g} s")

    def close(self) -> None:
        """End the process and everything it started; safe to call twice."""
        process, self._process = self._process, None
        if process is not None:
            self._connection.close()
            end_session(process.pid)
            process.wait()
            self._errors.close()

    def _death(self) -> str:
        assert self._process is not None  # noqa: S101 (a closed one is not asked)
        code = ended(self._process, wait=True)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process died with code {code}: {lines[-1] if lines else 'no message'}"


def inside(descriptor: str) -> Connection[Any, Any]:
    """Called by `main` in the other process: its end of the connection.

    From then on the process ends when the one that started it does.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return Connection(int(descriptor))
