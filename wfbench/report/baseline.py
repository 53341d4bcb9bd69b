"""Baselines: what is kept, and how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wfbench.bench.baseline import Baseline
from wfbench.bench.checking import ratio_of
from wfbench.report.check import interval
from wfbench.report.console import console, plain_table


def show_baselines(baselines: Sequence[Baseline], folder: Path) -> None:
    """One line for each."""
    out = console()
    if not baselines:
        out.print(f"there is no baseline in {folder}", soft_wrap=True)
        return
    table = plain_table("name", "made", "env", "cases", "rounds", "reference")
    for one in baselines:
        values = baseline_summary(one)
        table.add_row(
            *(one.name, one.created, ", ".join(values["envs"]), str(len(one.cells))),
            *(str(one.settings.rounds), one.reference),
        )
    out.print(table)


def show_baseline(baseline: Baseline) -> None:
    """The ratios of a baseline, its conditions and its machine."""
    out = console()
    settings, machine = baseline.settings, baseline.machine
    out.print(f"baseline {baseline.name}, made {baseline.created}", style="bold")
    table = plain_table("collector")
    for name in ("envs", "rounds", f"x {baseline.reference}", "transitions/s there"):
        table.add_column(name, justify="right", no_wrap=True)
    for cell in baseline.cells:
        table.add_row(
            cell.case.label,
            f"{cell.case.n_envs:,}",
            str(len(cell.rounds)),
            "1" if baseline.is_reference(cell) else interval(ratio_of(cell)),
            f"{sum(cell.rates) / len(cell.rates):,.0f}",
        )
    out.print(table)
    first = baseline.cells[0].case
    out.print(
        f"environment {first.env.name}, {first.policy} policy, {settings.rounds} rounds of "
        f"{settings.seconds:g} s, {settings.steps} steps per collect, seed {settings.seed}"
    )
    out.print(
        f"on {machine.get('cpu')}, {machine.get('usable_cores')} cores, wfbench {baseline.wfbench}",
        soft_wrap=True,
    )
    if baseline.command:
        out.print(f"made by: wfbench {shlex.join(baseline.command)}", soft_wrap=True)


def baseline_summary(baseline: Baseline) -> dict[str, Any]:
    """A baseline without its samples, as JSON values."""
    return {
        "name": baseline.name,
        "created": baseline.created,
        "reference": baseline.reference,
        "envs": list(dict.fromkeys(cell.case.env.name for cell in baseline.cells)),
        "cells": [cell.name for cell in baseline.cells],
        "rounds": baseline.settings.rounds,
    }
