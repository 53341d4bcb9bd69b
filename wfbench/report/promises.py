"""Conformance reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wfbench.contract import FactorySpec
from wfbench.report.console import console
from wfbench.testing.promise import Promise

_STYLES = {"kept": "green", "BROKEN": "bold red", "n/a": "dim", "cannot": "yellow", "STALE": "red"}


def word_of(promise: Promise) -> str:
    """What became of a promise, in one word."""
    if promise.stale:
        return "STALE"
    if promise.excuse and promise.kept is False:
        return "cannot"
    return {True: "kept", False: "BROKEN", None: "n/a"}[promise.kept]


def show_promise(promise: Promise) -> None:
    """One line as soon as a promise is judged."""
    word = word_of(promise)
    line = ": ".join(filter(None, (f"{word:<7} {promise.name}", _remark(promise), promise.detail)))
    console().print(line, style=_STYLES[word], soft_wrap=True)


def show_verdict(spec: FactorySpec, promises: Sequence[Promise]) -> None:
    """How many promises are kept, broken, declared as ones that cannot be kept, and not made."""
    count = Counter(word_of(promise) for promise in promises)
    line = (
        f"{spec.kind} {spec.name}: {count['kept'] + count['STALE']} promises kept, "
        f"{count['BROKEN']} broken, {count['n/a']} do not apply"
    )
    if count["cannot"]:
        line += f", {count['cannot']} declared: cannot"
    if count["STALE"]:
        line += f", {count['STALE']} kept although declared: take them out of `cannot`"
    console().print(line, style="bold", soft_wrap=True)


def _remark(promise: Promise) -> str:
    if promise.stale:
        return f"kept, but declared: cannot, because {promise.excuse}"
    return f"declared: cannot, because {promise.excuse}" if promise.excuse else ""
