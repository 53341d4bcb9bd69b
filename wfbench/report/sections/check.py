"""What `wfbench check` decided about a baseline of speed, and every stored verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wfbench.benchmarks.gate.speed_check import CellVerdict, SpeedCheck
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.report.document import Check, Dots, Exhibit, Section
from wfbench.store.decoding import decode
from wfbench.store.event_log import plain

from .bench import work_check
from .common import facts, table, worst
from .comparison import decode_comparison, gate_outcome, learning_check_section, outcome_of
from .revisions import decode_revisions, revisions_section

_STORED = ("baseline", "reference", "threshold", "cells", "unequal")


def check_section(found: SpeedCheck, notes: Sequence[str] = (), *, strict: bool = False) -> Section:
    """Return the section of a check; `strict`: what is inconclusive fails."""
    judged = [c for c in found.cells if c.verdict is not Verdict.NOT_COMPARABLE or c.failures]
    checks = (
        *(_cell_check(cell, strict=strict) for cell in judged),
        *map(work_check, found.unequal),
    )
    heads = (
        "cell | change (times the baseline) ± | p | then (times the reference) | "
        "now (times the reference) | CPU per transition (times then) | verdict"
    )
    return Section(
        title=f"Check against {found.baseline}",
        kind="check",
        headline=Check("result", worst(checks), outcome(found)[1]),
        checks=checks,
        facts=facts({"baseline": found.baseline, "reference": found.reference}),
        notes=(*_common_shift(found), *notes),
        exhibits=(
            Exhibit(
                title="Did anything get slower?",
                reading=f"Change of each cell's speed relative to {found.reference} in the same "
                "rounds, with a 95 % interval: 1 is no change, to the left of it is slower. "
                "What looks slower is measured again before it counts.",
                table=table(heads, map(_row, judged)),
                command=f"wfbench check --baseline {found.baseline}",
                picture=Dots("cell", "change", "low", "high"),
            ),
        ),
    )


def smoke_section(found: SpeedCheck) -> Section:
    """Return the section of `wfbench check --smoke`, which says nothing about speed."""
    if found.failed:
        return check_section(found)
    says = (
        f"the gate works: {len(found.cells)} collectors measured, remembered and measured again; "
        f"a slow-down planted in {found.cells[-1].label} was found. This says nothing about speed."
    )
    return Section("Smoke check", "check", Check("result", "good", says))


def check_data(found: SpeedCheck, notes: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return a check as JSON values; the samples are in run directories next to the file."""
    values: Mapping[str, Any] = asdict(found)
    stored = {name: values[name] for name in _STORED}
    data: dict[str, Any] = plain({"notes": list(notes), **stored, **more})
    verdict, says = outcome(found)
    return {"verdict": verdict, "headline": says, **data}


def stored_check_section(values: Mapping[str, Any]) -> Section:
    """Return the section of a `verdict.json`, of speed or of learning."""
    if values.get("of") == "revisions":
        return revisions_section(decode_revisions(values))
    if values.get("of") == "learning":
        return learning_check_section(
            str(values["baseline"]), decode_comparison(values["comparison"])
        )
    stored = {name: values[name] for name in _STORED}
    found = decode(SpeedCheck, {**stored, "sessions": []}, "verdict")
    return check_section(found, [str(note) for note in values["notes"]])


def outcome(found: SpeedCheck) -> tuple[str, str]:
    """Return the outcome in one word, and in one line that names what is worse or broken."""
    if found.failed:
        broken = [cell.label for cell in found.cells if cell.failures]
        broken += [label for work in found.unequal for label in work.odd]
        return "failed", f"FAILED: {_names(broken)} could not be measured soundly"
    slower, unsure = (
        _names([cell.label for cell in found.with_verdict(one)])
        for one in (Verdict.REGRESSED, Verdict.INCONCLUSIVE)
    )
    return gate_outcome(slower and f"{slower} got slower", unsure)


def _row(cell: CellVerdict) -> tuple[object, ...]:
    latest = cell.again or cell.first
    return (
        f"{cell.label}, {cell.n_envs} envs",
        None if latest is None else latest.change,
        None if latest is None else latest.p,
        cell.then.value,
        None if cell.now is None else cell.now.value,
        cell.cpu_change,
        "failed" if cell.failures else str(cell.verdict),
    )


def _cell_check(cell: CellVerdict, *, strict: bool) -> Check:
    name = f"{cell.label}, {cell.n_envs} envs"
    if cell.failures:
        return Check(name, "bad", "; ".join(cell.failures), error=True)
    return Check(name, outcome_of(cell.verdict, strict=strict), f"{cell.verdict}: {cell.why}")


def _common_shift(found: SpeedCheck) -> Iterator[str]:
    """Where all others moved alike, two causes look the same, and a person must decide."""
    for n_envs in dict.fromkeys(cell.n_envs for cell in found.cells):
        others = [c for c in found.cells if c.n_envs == n_envs and c.label != found.reference]
        if len(others) < 2:
            continue
        if all(c.verdict is Verdict.REGRESSED for c in others):
            yield (
                f"all others fell against {found.reference} at {n_envs} envs: if it got faster, "
                "save a new baseline; if not, what they share got slower"
            )
        if all(c.verdict is Verdict.IMPROVED for c in others):
            yield (
                f"all others rose against {found.reference} at {n_envs} envs: if they all got "
                f"faster, save a new baseline; if not, {found.reference} got slower"
            )


def _names(labels: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(labels))
