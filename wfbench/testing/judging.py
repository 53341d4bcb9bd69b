"""Checks run in a process of their own, so that a subject that hangs is reported, not hung on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

from wfbench.contract import CollectorSpec, PluginError, WfbenchError

from . import traces
from .promise import Promise
from .verdict import Check

_START = 60.0
"""Seconds the process has for being ready."""


def python_command(module: str, argument: str) -> list[str]:
    """How to run `main(argument)` of a module in a new interpreter."""
    code = f"import sys; from {module} import main; main(sys.argv[1])"
    return [sys.executable, "-c", code, argument]


def python_environment() -> dict[str, str]:
    """An environment in which a new interpreter can import whatever this one can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@dataclass(frozen=True)
class Case:
    """The subject, as it crosses to the judging process: by name, or as a descriptor."""

    collector: str | CollectorSpec
    options: Mapping[str, Any]


class Judge:
    """Judges promises one at a time; a process that hangs or dies is replaced for the next one."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any]
        self._errors: IO[bytes]

    def start(self) -> None:
        """Start the judging process, unless it runs; raises what keeps it from judging."""
        if self._process is not None:
            return
        self._connection, theirs = Pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 (our own code)
                python_command("wfbench.testing.judge", str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
                env=python_environment(),
            )
        self._connection.send(self._case)
        answer = self._answer(_START)
        if isinstance(answer, WfbenchError):
            self.close()
            raise answer
        if isinstance(answer, str):
            self.close()
            raise PluginError(f"the conformance kit could not start: {answer}")

    def judge(self, check: Check, limit: float | None = None) -> Promise:
        """Whether the subject keeps a promise; `limit` shortens the check's own deadline."""
        self.start()
        self._connection.send(check.slug)
        answer = self._answer(min(check.limit, limit or check.limit))
        if isinstance(answer, Promise):
            return answer
        self.close()
        return Promise(check.name, kept=False, detail=str(answer))

    def _answer(self, limit: float) -> object:
        """What the process says, or in words why it says nothing."""
        try:
            if self._connection.poll(limit):
                return self._connection.recv()
        except (EOFError, OSError):
            assert self._process is not None  # noqa: S101 (it was asked)
            code = self._process.wait()
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            return f"the process died with code {code}: {lines[-1] if lines else 'no message'}"
        return f"hung: nothing happened for {limit:g} s"

    def close(self) -> None:
        """End the judging process and everything it started."""
        process, self._process = self._process, None
        if process is not None:
            self._connection.close()
            traces.end_session(process.pid)
            process.wait()
            self._errors.close()
