"""What `check` and `compare` decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from wfbench.report.document import (
    Check,
    Column,
    Dots,
    Exhibit,
    Fact,
    Outcome,
    Section,
    count_outcomes,
)

from .common import table

VERDICT, COMPARISON = "wfbench/verdict/1", "wfbench/compare/1"

_OUTCOMES: Mapping[str, Outcome] = {
    "improved": "good",
    "within noise": "good",
    "no change": "good",
    "regressed": "bad",
}
"""Every other verdict leaves it open."""
_SCALES = {
    "ratio": (
        "By which factor did it change?",
        "New over old",
        "1 is no change, to the right of it is more.",
    ),
    "difference": ("By how much did it change?", "New less old", "0 is no change."),
}


def check_section(values: Mapping[str, Any]) -> Section:
    """What `wfbench check` decided about a baseline, of speed or of learning."""
    return _learning(values) if values.get("of") == "learning" else _speed(values)


def _learning(values: Mapping[str, Any]) -> Section:
    compared = comparison_section(values["comparison"])
    outcome = {"ok": "good", "regressed": "bad"}.get(str(values["verdict"]), "open")
    return replace(
        compared,
        title=f"Check against {values['baseline']}",
        kind="check",
        headline=Check("result", cast("Outcome", outcome), str(values["headline"])),
    )


def _speed(values: Mapping[str, Any]) -> Section:
    cells = values["cells"]
    baseline = str(values["baseline"])
    judged = [cell for cell in cells if cell["verdict"] != "not comparable" or cell["failures"]]
    checks = tuple(_cell_check(f"{c['label']}, {c['n_envs']} envs", c) for c in judged)
    checks += tuple(
        Check(f"equal work, {w['n_envs']} envs", "bad", f"{', '.join(w['odd'])} differ")
        for w in values["unequal"]
    )
    rows = []
    for cell in judged:
        measured = cell["again"] or cell["first"]
        change = None if measured is None else measured["change"]
        name = f"{cell['label']}, {cell['n_envs']} envs"
        then, now = (_value(cell[side], "value") for side in ("then", "now"))
        rows.append((name, *_three(change), then, now, str(cell["verdict"]), cell["why"]))
    columns = [
        Column("cell"),
        *(Column(name, "times the baseline") for name in ("change", "low", "high")),
        Column("then", "times the reference"),
        Column("now", "times the reference"),
        Column("verdict"),
        Column("why"),
    ]
    return Section(
        title=f"Check against {baseline}",
        kind="check",
        headline=_headline(checks, "got slower or failed"),
        checks=checks,
        facts=(Fact("baseline", baseline), Fact("reference", str(values["reference"]))),
        notes=tuple(map(str, values["notes"])),
        exhibits=(
            Exhibit(
                title="Did anything get slower?",
                reading=(
                    "Change of each cell's speed relative to the reference case of the same run, "
                    "with a 95 % interval: 1 is no change, to the left of it is slower. What looks "
                    "slower is measured again before it counts."
                ),
                table=table(columns, rows),
                command=f"wfbench check --baseline {baseline}",
                picture=Dots("cell", "change", "low", "high"),
            ),
        ),
    )


def comparison_section(values: Mapping[str, Any]) -> Section:
    """What `wfbench compare` found."""
    old, new = (", ".join(map(str, values[side])) for side in ("old", "new"))
    command = f"wfbench compare {' '.join(map(str, (*values['old'], *values['new'])))}"
    checks = tuple(_cell_check(f"{c['name']}, {c['metric']}", c) for c in values["cells"])
    exhibits = []
    for scale, (title, what, meaning) in _SCALES.items():
        cells = [cell for cell in values["cells"] if cell["scale"] == scale]
        if cells:
            reading = f"{what} with a 95 % interval. {meaning}"
            exhibits.append(_effects(cells, title, reading, command))
    if values["learned"]:
        exhibits.append(_learned(values["learned"], command))
    return Section(
        title="Comparison",
        kind="comparison",
        headline=_headline(checks, "got worse"),
        checks=checks,
        facts=(Fact("old", old), Fact("new", new), Fact("basis", str(values["basis"]))),
        exhibits=tuple(exhibits),
        notes=tuple(map(str, values["notes"])),
    )


def _learned(learned: Sequence[Mapping[str, Any]], command: str) -> Exhibit:
    rows = [
        (
            f"{one['metric']} of {one['name']}",
            *_three(one["improvement"]),
            one["steps"],
            _value(one["old"], "value"),
            _value(one["new"], "value"),
            str(one["non_inferiority"]),
        )
        for one in learned
    ]
    columns = [
        Column("what"),
        Column("probability", digits=2),
        Column("low", digits=2),
        Column("high", digits=2),
        Column("environment steps"),
        Column("old", "interquartile mean"),
        Column("new", "interquartile mean"),
        Column("not worse"),
    ]
    return Exhibit(
        title="Does it learn as well as before?",
        reading=(
            "How probably a new training beats an old one after equally many environment steps, "
            "with a 95 % interval: one half is no difference."
        ),
        table=table(columns, rows),
        command=command,
        picture=Dots("what", "probability", "low", "high"),
    )


def _effects(cells: Sequence[Mapping[str, Any]], title: str, reading: str, command: str) -> Exhibit:
    rows = [
        (
            f"{cell['name']}, {cell['metric']}",
            *_three(cell["effect"]),
            _value(cell["old"], "value"),
            _value(cell["new"], "value"),
            cell["p"],
            str(cell["verdict"]),
        )
        for cell in cells
    ]
    names = ("what", "effect", "low", "high", "old", "new", "p", "verdict")
    return Exhibit(
        title=title,
        reading=reading,
        table=table([Column(name) for name in names], rows),
        command=command,
        picture=Dots("what", "effect", "low", "high"),
    )


def _cell_check(name: str, cell: Mapping[str, Any]) -> Check:
    verdict = str(cell["verdict"])
    failures = "; ".join(map(str, cell.get("failures", ())))
    if failures:
        return Check(name, "bad", failures)
    why = str(cell.get("why") or cell.get("reason") or "")
    return Check(name, _OUTCOMES.get(verdict, "open"), f"{verdict}: {why}" if why else verdict)


def _headline(checks: Sequence[Check], bad: str) -> Check:
    found = count_outcomes(checks)
    said = f"{found['bad']} of {len(checks)} cells {bad}"
    said += f", {found['open']} cannot be decided" if found["open"] else ""
    worst: Outcome = "bad" if found["bad"] else "open" if found["open"] else "good"
    return Check("result", worst, said)


def _three(estimate: Mapping[str, Any] | None) -> tuple[float | None, ...]:
    return tuple(_value(estimate, name) for name in ("value", "low", "high"))


def _value(estimate: Mapping[str, Any] | None, name: str) -> float | None:
    found = None if estimate is None else estimate[name]
    return None if found is None else float(found)
