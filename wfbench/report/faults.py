"""Faults side by side: what a caller sees of each, by collector."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wfbench.testing.faults_seen import (
    CAUSE_LOST,
    DEADLINES,
    FAULTS,
    HUNG,
    LIMIT,
    RECOVERED,
    TOLD,
    Seen,
)

_HELP = {
    "told": "the error names the environment and the cause, or the deadline that was missed",
    "cause lost": "an error, but not what happened or where",
    "went on": "nobody was told",
    "wrong error": "an error that a caller cannot know to expect",
    "hung": f"nothing within {LIMIT:g} s; the deadline of a step was {DEADLINES.step:g} s",
    "caller died": "the fault took the program along",
    "recovered": "the worker was replaced and the sample marked",
    "not offered": "no such option",
}


def show_seen(seen: Seen) -> None:
    """One line on standard error as soon as a fault was seen, or not."""
    sys.stderr.write(f"{seen.collector}  {FAULTS[seen.fault]}: {_cell(seen)}\n")
    sys.stderr.flush()


def faults_markdown(found: Sequence[Seen], sources: Mapping[str, str], command: str) -> str:
    """A table with a row per fault and a column per collector, and what the words mean."""
    collectors = list(dict.fromkeys(seen.collector for seen in found))
    cells = {(seen.fault, seen.collector): _cell(seen) for seen in found}
    lines = [
        "| fault | " + " | ".join(f"`{name}`" for name in collectors) + " |",
        "|---" * (len(collectors) + 1) + "|",
    ]
    for fault in dict.fromkeys(seen.fault for seen in found):
        row = " | ".join(cells.get((fault, name), "") for name in collectors)
        lines.append(f"| {FAULTS[fault]} (`{fault}`) | {row} |")
    counts = " | ".join(_counts(found, name) for name in collectors)
    lines += [f"| in all | {counts} |", ""]
    used = dict.fromkeys(seen.outcome for seen in found)
    lines += [f"* **{word}**: {_HELP[word]}" for word in _HELP if word in used]
    lines += ["", "Seconds are from the fault until the caller knew. Collectors are of "]
    lines[-1] += ", ".join(f"{name}: {sources[name]}" for name in collectors) + "."
    return "\n".join([*lines, "", f"Made by `{command}`.", ""])


def faults_json(found: Sequence[Seen], sources: Mapping[str, str]) -> dict[str, Any]:
    """The same as JSON values, with what the caller was told."""
    return {
        "limit": LIMIT,
        "sources": dict(sources),
        "faults": dict(FAULTS),
        "seen": [asdict(seen) for seen in found],
    }


def _cell(seen: Seen) -> str:
    text = f"**{seen.outcome}**" if seen.outcome == HUNG else seen.outcome
    if seen.seconds is not None:
        text += f" {seen.seconds:.1f} s"
    if seen.close:
        text += f", close {seen.close}"
    if seen.usable_again is False:
        text += ", unusable afterwards"
    return text


def _counts(found: Sequence[Seen], collector: str) -> str:
    outcomes = [seen.outcome for seen in found if seen.collector == collector]
    words = {TOLD: "told", CAUSE_LOST: "lost", HUNG: "hung", RECOVERED: "recovered"}
    counted = [f"{outcomes.count(o)} {word}" for o, word in words.items() if o in outcomes]
    return ", ".join(counted) or "none told"
