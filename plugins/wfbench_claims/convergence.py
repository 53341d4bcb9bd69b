"""Claim 12: how soon an order is followed."""

from __future__ import annotations

from wfbench.contract import (
    Finding,
    FindingTable,
    Interval,
    Lab,
    TrainCase,
    Verdict,
    WorkflowSample,
)

from .conditions import DEFAULT_ORDER, EPISODE
from .judging import IN_PART, NOT, REPRODUCED, amount, median, number

N_ENVS = 25
STAGES = ((0, 25), (25, 50), (50, 125), (125, 250))
"""Documented: random, first gain, rising, near 95 %; in episodes of all envs together."""
NEAR = 0.90
GAIN = 0.05
DEFINITIONS = ("strict", "effective", "targeted")
"""The intended definition, ours, and the one that the published results used."""


def measure_convergence(lab: Lab) -> Finding:
    """Claim 12: near 95 % after 125 to 250 episodes."""
    per_env, rounds = (40, 2) if lab.quick else (200, 8)
    budget = per_env * N_ENVS
    found = lab.train([_from_scratch(name, per_env) for name in DEFINITIONS], rounds=rounds)
    curves = {
        name: [sample.workflows[0] for sample in samples]
        for name, samples in zip(DEFINITIONS, found, strict=True)
    }
    judged = curves[DEFINITIONS[0]]
    first, last = ([_stage(one, stage) for one in judged] for stage in (STAGES[0], STAGES[-1]))
    reached = [_episodes_to_compliance(one) for one in judged]
    gained = lab.mean([b - a for a, b in zip(first, last, strict=True)])
    level = lab.mean(last)
    middle = median(reached)
    when = f"{number(middle)} episodes" if middle is not None else f"more than {budget:,} episodes"
    return Finding(
        measured=f"compliance {amount(level)} in episodes 125-250; median to 95 %: {when}",
        interval=level,
        verdict=_convergence_verdict(level, gained),
        why=(
            f"In episodes 125 to 250, that is updates 6 to 10, compliance (definition "
            f"{DEFINITIONS[0]}) is {number(level.value)}, {number(abs(gained.value))} "
            f"{'above' if gained.value >= 0 else 'below'} the first 25; 95 % are reached by "
            f"{sum(r is not None for r in reached)} of {rounds} trainings within {budget:,} "
            f"episodes, the median after {when}."
        ),
        values={
            "compliance_0_25": lab.mean(first).value,
            "compliance_125_250": level.value,
            "gain": gained.value,
            "median_episodes_to_95": middle,
            "reached": float(sum(r is not None for r in reached)),
            "trainings": float(rounds),
            "budget_episodes": float(budget),
        },
        tables=(_stage_table(lab, curves, budget),),
    )


def _from_scratch(definition: str, per_env: int) -> TrainCase:
    return TrainCase(
        trainer="ppo-parallel",
        orders=(DEFAULT_ORDER,),
        settings={
            "n_envs": N_ENVS,
            "max_episodes": per_env,
            "min_episodes": 1,
            "definition": definition,
        },
    )


def _stage(one: WorkflowSample, stage: tuple[int, int]) -> float:
    """Mean compliance between two numbers of episodes; a training that ended keeps its last."""
    rollouts = one.rollouts
    inside = [
        compliance
        for steps, compliance in zip(rollouts.env_steps, rollouts.compliance, strict=True)
        if stage[0] < steps / EPISODE <= stage[1]
    ]
    return sum(inside) / len(inside) if inside else rollouts.compliance[-1]


def _episodes_to_compliance(one: WorkflowSample) -> float | None:
    return None if one.steps_to_compliance is None else one.steps_to_compliance / EPISODE


def _convergence_verdict(level: Interval, gained: Interval) -> Verdict:
    if level.value >= NEAR:
        return REPRODUCED
    if gained.low is not None and gained.low > 0 and gained.value >= GAIN:
        return IN_PART
    return NOT


def _stage_table(lab: Lab, curves: dict[str, list[WorkflowSample]], budget: int) -> FindingTable:
    later = (STAGES[-1][1], budget)
    stages = (*STAGES, later)
    rows = []
    for name, trainings in curves.items():
        reached = [_episodes_to_compliance(one) for one in trainings]
        middle = median(reached)
        rows.append(
            (
                name,
                *(number(lab.mean([_stage(one, s) for one in trainings]).value) for s in stages),
                f"{sum(r is not None for r in reached)} of {len(reached)}",
                f"more than {budget:,}" if middle is None else number(middle),
            )
        )
    return FindingTable(
        "Compliance by episodes of all 25 envs together",
        (
            "definition",
            *(f"{a}-{b:,}" for a, b in stages),
            "reached 95 %",
            "median episodes to 95 %",
        ),
        tuple(rows),
    )
