"""What a check found: a table for people, values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wfbench.bench.checking import CellVerdict, Check
from wfbench.bench.statistics import Estimate
from wfbench.bench.verdicts import Verdict
from wfbench.report.console import console, plain_table
from wfbench.store.event_log import plain

_STYLES = {Verdict.REGRESSED: "red", Verdict.IMPROVED: "green"}


def show_check(check: Check, notes: Sequence[str]) -> None:
    """The table of a check, what must be known to believe it, and the outcome."""
    out = console()
    out.print(f"check against baseline {check.baseline}", style="bold")
    table = plain_table("collector")
    for name in ("envs", "x reference then", "now", "change", "p", "CPU/transition"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for cell in check.cells:
        table.add_row(*row(cell), style=_STYLES.get(cell.verdict))
    out.print(table)
    for line in (*remarks(check), *(f"note: {note}" for note in notes)):
        out.print(line, soft_wrap=True)
    out.print(headline(check), style="bold", soft_wrap=True)


def show_smoke(check: Check) -> None:
    """That the gate works, and nothing about speed."""
    out = console()
    for line in remarks(check) if check.failed else ():
        out.print(line, soft_wrap=True)
    if check.failed:
        out.print(headline(check), style="bold", soft_wrap=True)
    else:
        out.print(
            f"the gate works: {len(check.cells)} collectors measured, remembered and measured "
            f"again; a slow-down planted in {check.cells[-1].label} was found. "
            "This says nothing about speed.",
            soft_wrap=True,
        )


def row(cell: CellVerdict) -> tuple[str, ...]:
    """The figures of a cell, as text."""
    latest = cell.again or cell.first
    return (
        cell.label,
        f"{cell.n_envs:,}",
        f"{cell.then.value:.3g}",
        "-" if cell.now is None else f"{cell.now.value:.3g}",
        "-" if latest is None or latest.change is None else interval(latest.change),
        "-" if latest is None or latest.p is None else f"{latest.p:.2g}",
        "-" if cell.cpu_change is None else f"x {cell.cpu_change:.3g}",
        _word(cell),
    )


def _word(cell: CellVerdict) -> str:
    if cell.failures:
        return "failed"
    return "reference" if cell.verdict is Verdict.NOT_COMPARABLE else str(cell.verdict)


def interval(estimate: Estimate) -> str:
    """A ratio with its interval."""
    return f"x {interval_of(estimate)}"


def interval_of(estimate: Estimate) -> str:
    """A value with its interval."""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3g}"
    return f"{estimate.value:.3g} ({estimate.low:.3g} - {estimate.high:.3g})"


def remarks(check: Check) -> list[str]:
    """One line for each cell about which something must be said."""
    lines = []
    for cell in check.cells:
        name = f"{cell.label}, {cell.n_envs} envs"
        if cell.failures:
            lines += [f"failed: {name}: {failure}" for failure in cell.failures]
        elif cell.verdict in {Verdict.REGRESSED, Verdict.IMPROVED, Verdict.INCONCLUSIVE}:
            lines.append(f"{cell.verdict}: {name}: {cell.why}")
    lines += [
        f"UNEQUAL WORK at {work.n_envs} envs: {', '.join(work.odd)} collected other transitions "
        f"than {work.labels[0]}"
        for work in check.unequal
    ]
    return lines + _common_shift(check)


def overall(check: Check) -> str:
    """The outcome in one word."""
    if check.failed:
        return "failed"
    for verdict in (Verdict.REGRESSED, Verdict.INCONCLUSIVE):
        if check.with_verdict(verdict):
            return str(verdict)
    return "ok"


def headline(check: Check) -> str:
    """The outcome in one line; what is broken is named."""
    if check.failed:
        broken = [cell.label for cell in check.cells if cell.failures]
        broken += [label for work in check.unequal for label in work.odd]
        return f"FAILED: {_names(broken)} could not be measured soundly"
    slower = check.with_verdict(Verdict.REGRESSED)
    if slower:
        return f"REGRESSED: {_names([cell.label for cell in slower])} got slower"
    unsure = check.with_verdict(Verdict.INCONCLUSIVE)
    if unsure:
        return f"no regression found; inconclusive: {_names([cell.label for cell in unsure])}"
    return "no regression"


def check_data(check: Check, notes: Sequence[str], **more: Any) -> dict[str, Any]:
    """A check as JSON values; the samples are in the run directories beside it."""
    values: Mapping[str, Any] = asdict(check)
    kept = {name: value for name, value in values.items() if name != "sessions"}
    found: dict[str, Any] = plain(
        {
            "verdict": overall(check),
            "headline": headline(check),
            "notes": list(notes),
            **kept,
            **more,
        }
    )
    return found


def _common_shift(check: Check) -> list[str]:
    """Where all others moved alike, two causes look the same, and a person must tell them apart."""
    found = []
    for n_envs in dict.fromkeys(cell.n_envs for cell in check.cells):
        others = [c for c in check.cells if c.n_envs == n_envs and c.label != check.reference]
        if len(others) < 2:
            continue
        if all(c.verdict is Verdict.REGRESSED for c in others):
            found.append(
                f"all others fell against {check.reference} at {n_envs} envs: if it got faster, "
                "save a new baseline; if not, what they share got slower"
            )
        if all(c.verdict is Verdict.IMPROVED for c in others):
            found.append(
                f"all others rose against {check.reference} at {n_envs} envs: if they all got "
                f"faster, save a new baseline; if not, {check.reference} got slower"
            )
    return found


def _names(labels: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(labels))
