"""Conformance reports."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.contract import FactorySpec
from wfbench.report.console import console
from wfbench.testing.promise import Promise

_WORDS = {True: "kept", False: "BROKEN", None: "n/a"}
_STYLES = {True: "green", False: "bold red", None: "dim"}


def show_promise(promise: Promise) -> None:
    """One line as soon as a promise is judged."""
    detail = f": {promise.detail}" if promise.detail else ""
    line = f"{_WORDS[promise.kept]:<7} {promise.name}{detail}"
    console().print(line, style=_STYLES[promise.kept], soft_wrap=True)


def show_verdict(spec: FactorySpec, promises: Sequence[Promise]) -> None:
    """How many promises are kept, broken and not made."""
    kept, broken, other = (sum(p.kept is word for p in promises) for word in (True, False, None))
    line = f"{spec.kind} {spec.name}: {kept} promises kept, {broken} broken, {other} do not apply"
    console().print(line, style="bold", soft_wrap=True)
