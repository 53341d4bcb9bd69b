"""Which documented claims hold here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wfbench.report.document import Check, Column, Exhibit, Fact, Outcome, Section

from .common import machine_facts, table

REPRODUCTION = "wfbench/reproduction/1"
_OUTCOMES: Mapping[str, Outcome] = {"reproduced": "good", "not reproduced": "bad"}
"""Every other verdict leaves it open."""


def reproduction_section(values: Mapping[str, Any]) -> Section:
    """Which documented claims hold on this machine."""
    claims, command = values["claims"], str(values["command"])
    checks, rows, exhibits = [], [], []
    for claim in claims:
        finding = claim["finding"]
        verdict = "failed" if finding is None else str(finding["verdict"])
        why = str(claim["failure"] if finding is None else finding["why"])
        outcome: Outcome = "bad" if finding is None else _OUTCOMES.get(verdict, "open")
        checks.append(Check(str(claim["summary"]), outcome, f"{verdict}: {why}"))
        measured = None if finding is None else finding["measured"]
        about = (claim["summary"], claim["documented"], claim["conditions"])
        rows.append((*about, measured, verdict, why))
        for part in () if finding is None else finding["tables"]:
            columns = [Column(str(name)) for name in part["columns"]]
            exhibits.append(Exhibit(str(part["title"]), why, table(columns, part["rows"]), command))
    names = ("claim", "documented", "conditions", "measured", "verdict", "why")
    first = Exhibit(
        title="Which documented claims hold here?",
        reading="Each claim as it is documented, and what the same measurement says here.",
        table=table([Column(name) for name in names], rows),
        command=command,
    )
    quick = "quick: smaller than documented, and less certain; " if values["quick"] else ""
    held = sum(check.outcome == "good" for check in checks)
    outcome = "bad" if any(claim["finding"] is None for claim in claims) else "good"
    return Section(
        title="Documented claims",
        kind="reproduction",
        headline=Check("claims", outcome, f"{quick}{held} of {len(claims)} claims are reproduced"),
        checks=tuple(checks),
        facts=(
            Fact("started", str(values["created"])),
            Fact("seed", str(values["seed"])),
            *machine_facts(values["machine"]),
        ),
        exhibits=(first, *exhibits),
    )
