"""Checks in a process of their own, so that a subject that hangs is reported, not waited for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wfbench.contract import PluginError, WfbenchError, load_object
from wfbench.processes.children import parent_channel
from wfbench.processes.isolated import Isolated, IsolationError
from wfbench.testing.collector_promises import COLLECTOR
from wfbench.testing.promise import Promise, PromiseResult

from .subject import CollectorUnderTest, SubjectRef

_START = 60.0
"""Seconds until the process must be ready."""


class SubjectProcess:
    """A process that answers questions about a collector; one that hangs or dies is replaced."""

    def __init__(self, ref: SubjectRef) -> None:
        self._ref = ref
        self._process: Isolated | None = None
        self._used = False
        self.cannot: Mapping[str, str] = {}
        """Promises that the collector declares it cannot keep, and why; known once it started."""

    def start(self) -> Isolated:
        """Return the process, started if need be; raise what keeps it from answering."""
        if self._process is None:
            self._process, self._used = Isolated(__name__), False
            try:
                answer = self._process.ask(self._ref, _START)
            except IsolationError as error:
                self.close()
                raise PluginError(f"the conformance kit could not start: {error}") from error
            if isinstance(answer, WfbenchError):
                self.close()
                raise answer
            self.cannot = answer
        return self._process

    def ask(self, function: str, question: str, limit: float) -> Any:
        """Return what a function answers to a question, given the collector, in the process.

        Raise IsolationError if there is no answer within `limit` seconds.
        """
        process = self.start()
        self._used = True
        # Made here, so that a process that dies or is killed leaves nothing behind.
        with TemporaryDirectory(prefix="wfbench-kit-", ignore_cleanup_errors=True) as scratch:
            try:
                return process.ask((function, question, scratch), limit)
            except IsolationError:
                self.close()
                raise

    def test(self, promise: Promise[Any], limit: float | None = None) -> PromiseResult:
        """Try to break a promise; `limit` shortens its own deadline."""
        if promise.fresh and self._used:
            with closing(SubjectProcess(self._ref)) as another:
                return another.test(promise, limit)
        seconds = min(promise.limit, limit or promise.limit)
        try:
            result: PromiseResult = self.ask(f"{__name__}:try_promise", promise.slug, seconds)
        except IsolationError as error:
            result = promise.result(kept=False, detail=str(error))
        return replace(result, excuse=self.cannot.get(promise.slug, ""))

    def close(self) -> None:
        """End the process and everything it started."""
        if self._process is not None:
            self._process.close()
            self._process = None


def try_promise(slug: str, subject: CollectorUnderTest) -> PromiseResult:
    """Try to break a promise in this process."""
    return COLLECTOR.by_slug[slug].test(subject, subject.spec.capabilities)


def main(descriptor: str) -> None:
    """Answer questions about one collector until the connection is closed."""
    connection = parent_channel(descriptor)
    ref = connection.recv()
    try:
        found = ref.load(Path())
        unknown = sorted(set(found.spec.cannot) - set(COLLECTOR.by_slug))
        if unknown:
            raise PluginError(
                f"collector {found.spec.name!r} declares that it cannot keep {unknown[0]!r}, "
                "but there is no such promise"
            )
    except WfbenchError as error:
        connection.send(error)
        return
    connection.send(dict(found.spec.cannot))
    while True:
        try:
            function, question, scratch = connection.recv()
        except EOFError:
            return
        connection.send(load_object(function)(question, replace(found, scratch=Path(scratch))))
