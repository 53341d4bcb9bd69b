"""What policies score: on the board, in another environment, and in an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.report.document import Dots, Section
from wfbench.search.board import BoardEntry, Cell
from wfbench.search.transfer import LIMIT, TransferCell

from .common import around, cell_name, facts, list_section, table


def board_section(
    env: str, cells: Sequence[Cell], entries: Sequence[BoardEntry], seed: int, *, greedy: bool
) -> Section:
    """Return the section of a board."""
    rows = [
        (
            *(rank, one.name, one.kind, around(one.total, one.half_interval)),
            *(*one.returns, one.knew_red, one.source),
        )
        for rank, one in enumerate(entries, start=1)
    ]
    heads = (
        *("rank", "entry", "kind", "total (points) .2 ±"),
        *(f"{red} {steps} .2" for red, steps in cells),
        *("knew the red agent", "source"),
    )
    taken = "their most likely action" if greedy else "drawn actions"
    return list_section(
        "board",
        f"Board of {env}",
        "good",
        f"best of {len(entries)}: {entries[0].name}, {entries[0].total:.2f}",
        table(heads, rows),
        "Sum of the mean returns against each red agent over each horizon, with a 95 % interval "
        "where it was measured here; to the right is better, 0 is best. Published results were "
        "measured by those who published them.",
        asks="Who defends best?",
        command="wfbench board" + (" --greedy" if greedy else ""),
        picture=Dots("entry", "total", "low", "high"),
        facts=facts({"policies take": taken, "seed": seed}),
    )


def transfer_section(
    policy: str, home: str, away: str, cells: Sequence[TransferCell], seed: int
) -> Section:
    """Return the section of a comparison of two environments."""
    differ = [cell_name(cell.red, cell.horizon) for cell in cells if not cell.agrees]
    says = f"{away} agrees with {home} in all {len(cells)} cells, within {LIMIT:g} standard errors"
    if differ:
        says = f"{away} differs from {home} in {len(differ)} of {len(cells)} cells: "
        says += ", ".join(differ)
    rows = [
        (
            cell_name(cell.red, cell.horizon),
            around(cell.home_return, cell.home_half_interval),
            around(cell.away_return, cell.away_half_interval),
            *(cell.difference, cell.standard_error, "agrees" if cell.agrees else "differs"),
        )
        for cell in cells
    ]
    heads = (
        f"cell | {home} (points per episode) .2 ± | {away} (points per episode) .2 ± | "
        "difference .2 | standard error .2 | verdict"
    )
    episodes = f"{cells[0].home_episodes} and {cells[0].away_episodes} per cell"
    return list_section(
        "transfer",
        f"{policy} in {home} and in {away}",
        "bad" if differ else "good",
        says,
        table(heads, rows),
        "Mean return per episode on fresh seeds with a 95 % interval, in both environments. Means "
        f"agree if they are no more than {LIMIT:g} standard errors of their difference apart.",
        asks="Does the policy hold elsewhere?",
        picture=Dots("cell", away, f"{away}, low", f"{away}, high"),
        facts=facts({"episodes": episodes, "seed": seed}),
    )


def exported_section(
    form: str, folder: str, files: Sequence[str], said: Mapping[str, Any]
) -> Section:
    """Return the section of an export."""
    rows = [
        (
            cell_name(one["red"], one["horizon"]),
            around(one["return"], one["half_interval"]),
            one["episodes"],
        )
        for one in said["scores"]
    ]
    told = {"order": "order", "compliance": "definition", "environment": "env"}
    return list_section(
        "export",
        f"Export of {said['policy']}",
        "good",
        f"{form} in {folder}: {', '.join(files)}",
        table("cell | return (points per episode) .2 ± | episodes", rows),
        "Mean return per episode on fresh seeds with a 95 % interval.",
        asks="What does it score?",
        picture=Dots("cell", "return", "low", "high"),
        facts=facts({name: said[key] for name, key in told.items()}),
    )
