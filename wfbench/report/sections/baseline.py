"""Baselines: what is kept and how it was made; and what a machine's noise lets one see."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from wfbench.benchmarks.gate.baseline_store import AnyBaseline, Baseline
from wfbench.benchmarks.gate.calibration import Calibration
from wfbench.benchmarks.gate.learning_baseline import LearningBaseline
from wfbench.report.document import Bars, Check, Exhibit, Fact, Outcome, Section
from wfbench.report.written import many
from wfbench.store.event_log import plain

from .common import list_section, machine_facts, table


def baselines_section(baselines: Sequence[AnyBaseline], folder: Path) -> Section:
    """Return one row for each baseline of a folder."""
    rows = []
    for one in baselines:
        values = baseline_data(one)
        envs, cells = ", ".join(values["envs"]), "; ".join(values["cells"])
        rows.append((one.name, values["of"], one.created, envs, cells, values["samples"]))
    says = many(len(rows), "baseline") if rows else f"there is no baseline in {folder}"
    outcome: Outcome = "good" if rows else "open"
    shown = table("name | of | made | env | cells | samples", rows)
    return list_section("baselines", "Baselines", outcome, says, shown)


def baseline_section(baseline: AnyBaseline) -> Section:
    """Return the figures of a baseline, its conditions and its machine."""
    if isinstance(baseline, LearningBaseline):
        return _learning(baseline)
    return _speed(baseline)


def baseline_data(baseline: AnyBaseline) -> dict[str, Any]:
    """Return a baseline without its samples, as JSON values."""
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


def _learning(baseline: LearningBaseline) -> Section:
    rows = []
    for run in baseline.runs:
        points = [p for t in run.trainings if (p := t.at(baseline.steps)) is not None]
        score = fmean(p.score for p in points) if points else None
        compliance = fmean(p.compliance for p in points) if points else None
        rows.append((", ".join(run.group), run.seed, len(run.trainings), score, compliance))
    heads = "collector, trainer, searcher | seed | orders | return (points) .1 | compliance .3"
    margin = baseline.margins.returns
    reading = (
        f"After {baseline.steps:,} environment steps of each training. A return may be "
        f"{'5 %' if margin is None else f'{margin:g}'} worse, compliance "
        f"{baseline.margins.compliance:g}."
    )
    says = f"of learning, made {baseline.created}"
    facts = (Fact("wfbench", baseline.wfbench),)
    title = f"Baseline {baseline.name}"
    return list_section("baseline", title, "good", says, table(heads, rows), reading, facts=facts)


def _speed(baseline: Baseline) -> Section:
    settings, first = baseline.settings, baseline.cells[0].case
    rows = [
        (
            cell.case.label,
            cell.case.n_envs,
            fmean(cell.rates),
            (1.0, None, None) if baseline.is_reference(cell) else cell.ratio,
            len(cell.rounds),
        )
        for cell in baseline.cells
    ]
    times = f"times {baseline.reference} ±"
    reading = (
        f"Environment {first.env.name}, {first.policy} policy, {settings.rounds} rounds of "
        f"{settings.seconds:g} s, {settings.steps} steps per collect, seed {settings.seed}."
    )
    notes = []
    if baseline.disturbed:
        notes.append(
            f"busy machine: other programs used {baseline.foreign_cores:.1f} cores meanwhile, so "
            "ratios of parallel collectors are unreliable; make it again"
        )
    machine = baseline.machine
    where = f"on {machine.get('cpu')}, {machine.get('usable_cores')} cores"
    unique = len({row[0] for row in rows}) == len(rows)
    return list_section(
        "baseline",
        f"Baseline {baseline.name}",
        "good",
        f"made {baseline.created} {where}, wfbench {baseline.wfbench}",
        table(("collector", "envs", "rate (transitions/s) .0", times, "rounds"), rows),
        reading,
        command=shlex.join(["wfbench", *baseline.command]) if baseline.command else "",
        picture=Bars("collector", "rate") if unique else None,
        facts=tuple(machine_facts(machine)),
        notes=tuple(notes),
    )


def calibration_section(found: Calibration, file: Path) -> Section:
    """Return the noise of each case and what follows from it."""
    rows = [
        (
            f"{one.label}, {one.n_envs} envs",
            one.comparisons,
            100 * one.spread,
            100 * one.false_alarms,
            "none" if one.detectable is None else f"{one.detectable:.0%} slower",
        )
        for one in found.cases
    ]
    heads = "case | comparisons | noise (%) .1 | false alarms (%) .1 | found in 80 % of checks"
    reading = (
        f"Code that does not change: {found.settings.rounds} rounds, checks of {found.window} "
        "rounds, each with its confirmation. 95 % of the comparisons stay below the noise."
    )
    says = f"`wfbench check` counts no change below {found.minimum_effect:.0%} on this machine"
    return Section(
        title="Calibration",
        kind="calibration",
        headline=Check("noise", "good", says),
        facts=tuple(machine_facts(found.machine)),
        exhibits=(Exhibit("", reading, table(heads, rows)),),
        notes=(f"kept in {file}",),
    )


def calibration_data(found: Calibration, file: Path) -> dict[str, Any]:
    """Return a calibration as JSON values."""
    return {
        "file": str(file),
        "false_alarms": found.false_alarms,
        "detectable": found.detectable,
        **plain(asdict(found)),
    }
