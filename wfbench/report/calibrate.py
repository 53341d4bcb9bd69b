"""What a machine's noise lets one see."""

from __future__ import annotations

from pathlib import Path

from wfbench.bench.calibration import Calibration
from wfbench.report.console import console, plain_table


def show_calibration(calibration: Calibration, file: Path) -> None:
    """The noise of each case and what follows from it."""
    out = console()
    out.print(
        f"the same code against itself: {calibration.settings.rounds} rounds, checks of "
        f"{calibration.window} rounds",
        style="bold",
    )
    table = plain_table("collector")
    for name in ("envs", "comparisons", "noise", "false alarms", "found in 80 %"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in calibration.cases:
        table.add_row(
            one.label,
            f"{one.n_envs:,}",
            str(one.comparisons),
            f"{one.spread:.1%}",
            f"{one.false_alarms:.1%}",
            "nothing" if one.detectable is None else f"{one.detectable:.0%} slower",
        )
    out.print(table)
    out.print(
        f"`wfbench check` counts no change below {calibration.minimum_effect:.0%} on this machine; "
        f"kept in {file}",
        soft_wrap=True,
    )
