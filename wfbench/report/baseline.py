"""Baselines: what is kept, and how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wfbench.bench.baseline import Baseline
from wfbench.bench.baseline_files import AnyBaseline
from wfbench.bench.checking import ratio_of
from wfbench.bench.learning_baseline import LearningBaseline
from wfbench.report.check import interval
from wfbench.report.console import console, plain_table


def show_baselines(baselines: Sequence[AnyBaseline], folder: Path) -> None:
    """One line for each."""
    out = console()
    if not baselines:
        out.print(f"there is no baseline in {folder}", soft_wrap=True)
        return
    table = plain_table("name", "of", "made", "env", "cells", "samples")
    for one in baselines:
        values = baseline_summary(one)
        table.add_row(
            *(one.name, values["of"], one.created, ", ".join(values["envs"])),
            *("; ".join(values["cells"]), str(values["samples"])),
        )
    out.print(table)


def show_baseline(baseline: AnyBaseline) -> None:
    """The figures of a baseline, its conditions and its machine."""
    if isinstance(baseline, LearningBaseline):
        _show_learning(baseline)
    else:
        _show_speed(baseline)


def _show_learning(baseline: LearningBaseline) -> None:
    out = console()
    out.print(f"baseline {baseline.name} of learning, made {baseline.created}", style="bold")
    table = plain_table("collector, trainer, searcher")
    for name in ("seed", "orders", "return", "compliance"):
        table.add_column(name, justify="right", no_wrap=True)
    for run in baseline.runs:
        points = [p for t in run.trainings if (p := t.at(baseline.steps)) is not None]
        table.add_row(
            ", ".join(run.group),
            str(run.seed),
            str(len(run.trainings)),
            f"{sum(p.score for p in points) / len(points):.4g}" if points else "-",
            f"{sum(p.compliance for p in points) / len(points):.3f}" if points else "-",
        )
    out.print(table)
    margin = baseline.margins.returns
    out.print(
        f"after {baseline.steps:,} environment steps of each training; a return may be "
        f"{'5 %' if margin is None else f'{margin:g}'} worse, compliance "
        f"{baseline.margins.compliance:g}",
        soft_wrap=True,
    )


def _show_speed(baseline: Baseline) -> None:
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
    if baseline.disturbed:
        out.print(
            f"busy machine: other programs used {baseline.foreign_cores:.1f} cores meanwhile; "
            "ratios of parallel collectors are not to be relied on, so make it again",
            soft_wrap=True,
        )
    if baseline.command:
        out.print(f"made by: wfbench {shlex.join(baseline.command)}", soft_wrap=True)


def baseline_summary(baseline: AnyBaseline) -> dict[str, Any]:
    """A baseline without its samples, as JSON values."""
    if isinstance(baseline, LearningBaseline):
        envs = [str(run.workload["env"]) for run in baseline.runs]
        cells = [", ".join(run.group) for run in baseline.runs]
        of, samples = "learning", len({run.seed for run in baseline.runs})
    else:
        envs = [cell.case.env.name for cell in baseline.cells]
        cells = [cell.name for cell in baseline.cells]
        of, samples = "speed", baseline.settings.rounds
    return {
        "name": baseline.name,
        "of": of,
        "created": baseline.created,
        "envs": list(dict.fromkeys(envs)),
        "cells": list(dict.fromkeys(cells)),
        "samples": samples,
    }
