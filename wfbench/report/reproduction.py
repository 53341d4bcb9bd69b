"""Claims and what was found, on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from wfbench.contract import FindingTable
from wfbench.report.console import console, plain_table
from wfbench.reproduce.model import ClaimResult, Reproduction

_STYLES = {
    "reproduced": "green",
    "reproduced in part": "yellow",
    "not reproduced": "red",
    "cannot be tested here": "dim",
}

_QUIET = 0.5
"""Load per core up to which a machine counts as ours."""


class ClaimProgress:
    """Says on standard error what was measured last, line by line."""

    def sample(self, line: str) -> None:
        """To be called with a line about every sample."""
        _write(f"  {line}")

    def claim(self, index: int, count: int, result: ClaimResult) -> None:
        """To be called with every claim that was judged."""
        outcome = f"failed: {result.failure}" if result.finding is None else result.finding.verdict
        _write(f"claim {index}/{count}  {result.name}: {outcome} ({result.seconds:.0f} s)")

    def wrote(self, path: Path) -> None:
        """To be called with every file that was written."""
        _write(f"wrote {path}")


def show_reproduction(found: Reproduction) -> None:
    """The table of claims, why each has its verdict, and the figures that need a table."""
    out = console()
    out.print(about(found), style="bold", soft_wrap=True)
    warning = busy(found)
    if warning is not None:
        out.print(warning, style="yellow", soft_wrap=True)
    table = plain_table("#", "claim", "documented", "measured", "verdict")
    for claim in found.claims:
        verdict = verdict_of(claim)
        table.add_row(
            number_of(claim),
            claim.name,
            f"{claim.documented} ({claim.conditions})",
            "" if claim.finding is None else claim.finding.measured,
            verdict,
            style=_STYLES.get(verdict, "bold red"),
        )
    out.print(table)
    for claim in found.claims:
        out.print(f"\n{claim.name}: {why(claim)}", soft_wrap=True)
        if claim.finding is None:
            continue
        if claim.finding.scaled:
            out.print(f"  scaled: {'; '.join(claim.finding.scaled)}", soft_wrap=True)
        for figures in claim.finding.tables:
            _show_table(figures)


def about(found: Reproduction) -> str:
    """One line: what was run, where and for how long."""
    machine = found.machine
    kind = "quick" if found.quick else "full"
    return (
        f"{kind} reproduction, seed {found.seed}, {found.seconds / 60:.1f} min on "
        f"{machine['usable_cores']} cores ({machine['cpu']}), {found.created}"
    )


def busy(found: Reproduction) -> str | None:
    """A warning if much had been going on when the measuring began."""
    load, cores = found.machine["load"][0], found.machine["usable_cores"]
    if load <= _QUIET * cores:
        return None
    return (
        f"The minute before this began had a load of {load:.1f} on {cores} cores: if whatever it "
        "was went on, times are longer and ratios less certain than on a quiet machine."
    )


def verdict_of(claim: ClaimResult) -> str:
    """The verdict, or that there is none."""
    return "failed" if claim.finding is None else claim.finding.verdict


def why(claim: ClaimResult) -> str:
    """Why it has its verdict, or why it has none."""
    return f"failed: {claim.failure}" if claim.finding is None else claim.finding.why


def number_of(claim: ClaimResult) -> str:
    """The number of a claim that has one."""
    return str(claim.number) if claim.number else ""


def cell(value: str | float) -> str:
    """What a table of figures shows of a value."""
    return value.strip() if isinstance(value, str) else f"{value:.4g}"


def _show_table(figures: FindingTable) -> None:
    out = console()
    out.print(f"  {figures.title}", style="bold")
    table = plain_table(*figures.columns)
    for row in figures.rows:
        table.add_row(*(cell(value) for value in row))
    out.print(table)


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
