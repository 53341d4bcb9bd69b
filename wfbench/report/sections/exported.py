"""An exported policy: its files and what it scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.report.document import Check, Dots, Exhibit, Fact, Section

from .common import around, table


def exported_section(
    form: str, folder: str, files: Sequence[str], said: Mapping[str, Any]
) -> Section:
    """Return the section of an export."""
    rows = [
        (
            f"{one['red'] or 'its red agent'}, {one['horizon']} steps",
            around(one["return"], one["half_interval"]),
            one["episodes"],
        )
        for one in said["scores"]
    ]
    return Section(
        title=f"Export of {said['policy']}",
        kind="export",
        headline=Check("export", "good", f"{form} in {folder}: {', '.join(files)}"),
        facts=(
            Fact("order", said["order"]),
            Fact("compliance", said["definition"]),
            Fact("environment", said["env"]),
        ),
        exhibits=(
            Exhibit(
                title="What does it score?",
                reading="Mean return per episode on fresh seeds with a 95 % interval.",
                table=table("cell | return (points per episode) .2 ± | episodes", rows),
                picture=Dots("cell", "return", "low", "high"),
            ),
        ),
    )
