"""The board: who defends best, by whose measurement."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.report.document import Check, Dots, Exhibit, Fact, Section
from wfbench.search.board import BoardEntry, Cell

from .common import around, table


def board_section(
    env: str, cells: Sequence[Cell], entries: Sequence[BoardEntry], seed: int, *, greedy: bool
) -> Section:
    """Return the section of a board."""
    best = entries[0]
    rows = [
        (
            rank,
            entry.name,
            entry.kind,
            around(entry.total, entry.half_interval),
            *entry.returns,
            entry.knew_red,
            entry.source,
        )
        for rank, entry in enumerate(entries, start=1)
    ]
    heads = (
        *("rank", "entry", "kind", "total (points) .2 ±"),
        *(f"{red} {steps} .2" for red, steps in cells),
        *("knew the red agent", "source"),
    )
    command = "wfbench board" + (" --greedy" if greedy else "")
    return Section(
        title=f"Board of {env}",
        kind="board",
        headline=Check("board", "good", f"best of {len(entries)}: {best.name}, {best.total:.2f}"),
        facts=(
            Fact("policies take", "their most likely action" if greedy else "drawn actions"),
            Fact("seed", str(seed)),
        ),
        exhibits=(
            Exhibit(
                title="Who defends best?",
                reading="Sum of the mean returns against each red agent over each horizon, with a "
                "95 % interval where it was measured here; to the right is better, 0 is best. "
                "Published results were measured by those who published them.",
                table=table(heads, rows),
                command=command,
                picture=Dots("entry", "total", "low", "high"),
            ),
        ),
    )
