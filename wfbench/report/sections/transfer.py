"""One policy in two environments, and whether its returns agree."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.report.document import Check, Dots, Exhibit, Fact, Section
from wfbench.search.transfer import LIMIT, TransferCell

from .common import around, table


def transfer_section(
    policy: str, home: str, away: str, cells: Sequence[TransferCell], seed: int
) -> Section:
    """Return the section of a comparison of two environments."""
    differ = [_name(cell) for cell in cells if not cell.agrees]
    says = f"{away} agrees with {home} in all {len(cells)} cells, within {LIMIT:g} standard errors"
    if differ:
        says = f"{away} differs from {home} in {len(differ)} of {len(cells)} cells: "
        says += ", ".join(differ)
    rows = [
        (
            _name(cell),
            around(cell.home_return, cell.home_half_interval),
            around(cell.away_return, cell.away_half_interval),
            cell.difference,
            cell.standard_error,
            "agrees" if cell.agrees else "differs",
        )
        for cell in cells
    ]
    heads = (
        f"cell | {home} (points per episode) .2 ± | {away} (points per episode) .2 ± | "
        "difference .2 | standard error .2 | verdict"
    )
    return Section(
        title=f"{policy} in {home} and in {away}",
        kind="transfer",
        headline=Check("transfer", "bad" if differ else "good", says),
        facts=(
            Fact("episodes", f"{cells[0].home_episodes} and {cells[0].away_episodes} per cell"),
            Fact("seed", str(seed)),
        ),
        exhibits=(
            Exhibit(
                title="Does the policy hold elsewhere?",
                reading="Mean return per episode on fresh seeds with a 95 % interval, in both "
                f"environments. Means agree if they are no more than {LIMIT:g} standard errors of "
                "their difference apart.",
                table=table(heads, rows),
                picture=Dots("cell", away, f"{away}, low", f"{away}, high"),
            ),
        ),
    )


def _name(cell: TransferCell) -> str:
    return f"{cell.red or 'its red agent'}, {cell.horizon} steps"
