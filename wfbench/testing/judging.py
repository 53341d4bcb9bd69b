"""Checks run in a process of their own, so that a subject that hangs is reported, not hung on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wfbench.contract import CollectorSpec, PluginError, WfbenchError
from wfbench.isolated import Isolated, IsolationError

from .promise import Promise
from .verdict import Check

_START = 60.0
"""Seconds the process has for being ready."""


@dataclass(frozen=True)
class Case:
    """The subject, as it crosses to the judging process: by name, or as a descriptor."""

    collector: str | CollectorSpec
    options: Mapping[str, Any]


class Judge:
    """Judges promises one at a time; a process that hangs or dies is replaced for the next one."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._process: Isolated | None = None
        self._cannot: Mapping[str, str] = {}

    def start(self) -> Isolated:
        """The judging process, started unless it runs; raises what keeps it from judging."""
        if self._process is None:
            self._process, self._cannot = start_judging("wfbench.testing.judge", self._case)
        return self._process

    def excuse(self, slug: str) -> str:
        """Why the subject declares that it cannot keep a promise; empty: it does not."""
        self.start()
        return self._cannot.get(slug, "")

    def judge(self, check: Check, limit: float | None = None) -> Promise:
        """Whether the subject keeps a promise; `limit` shortens the check's own deadline."""
        process = self.start()
        try:
            promise: Promise = process.ask(check.slug, min(check.limit, limit or check.limit))
        except IsolationError as error:
            self.close()
            promise = Promise(check.name, kept=False, detail=str(error))
        return replace(promise, slug=check.slug, excuse=self._cannot.get(check.slug, ""))

    def close(self) -> None:
        """End the judging process and everything it started."""
        if self._process is not None:
            self._process.close()
            self._process = None


def start_judging(module: str, case: Case) -> tuple[Isolated, Mapping[str, str]]:
    """A process that answers questions about a collector, and what that declares it cannot keep.

    Raises what keeps it from answering.
    """
    process = Isolated(module)
    try:
        answer = process.ask(case, _START)
    except IsolationError as error:
        process.close()
        raise PluginError(f"the conformance kit could not start: {error}") from error
    if isinstance(answer, WfbenchError):
        process.close()
        raise answer
    cannot: Mapping[str, str] = answer
    return process, cannot
