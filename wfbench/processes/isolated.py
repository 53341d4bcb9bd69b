"""Work in a fresh interpreter that may hang or die without taking us along."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from .children import Child, exit_code
from .leftovers import remove_stale_segments


class IsolationError(Exception):
    """The other process gave no answer; the message says why."""


class Isolated:
    """A process that runs `main` of a module, or a script, and answers questions.

    Whatever it started ends with it, and its shared memory goes. `variables` are added to its
    environment. It carries no mark of an owner: it does what this process would do, it is not a
    worker.
    """

    def __init__(self, module: str | Path, variables: Mapping[str, str] | None = None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._child = Child(module, variables or {}, stderr=self._errors)

    @property
    def pid(self) -> int:
        """Return its number."""
        return self._child.process.pid

    def ask(self, question: Any, limit: float) -> Any:
        """Return the answer to a question; raise IsolationError without one in `limit` seconds."""
        channel = self._child.channel
        try:
            channel.send(question, limit)
            return channel.recv(limit)
        except TimeoutError:
            raise IsolationError(f"hung: nothing happened for {limit:g} s") from None
        except (EOFError, OSError):
            raise IsolationError(self._death()) from None

    def close(self) -> None:
        """End the process and everything it started; safe to call twice."""
        if not self._errors.closed:
            self._child.end()
            self._errors.close()
            # Those who would remove them were killed with it.
            remove_stale_segments()

    def _death(self) -> str:
        code = exit_code(self._child.process, wait=True)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process died with code {code}: {lines[-1] if lines else 'no message'}"
