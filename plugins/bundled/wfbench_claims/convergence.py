"""Claims 12 and 14: how soon an order is followed, and what a minimum of episodes costs."""

from __future__ import annotations

from wfbench.contract import Finding, FindingTable, Interval, Lab, Verdict, WorkflowSample

from .conditions import DEFAULT_ORDER, EPISODE, MANY, fewer_envs, training
from .judging import (
    IN_PART,
    NOT,
    REPRODUCED,
    UNTESTABLE,
    amount,
    bounds,
    median,
    number,
    times,
    typical,
)

N_ENVS = 25
STAGES = ((0, 25), (25, 50), (50, 125), (125, 250))
"""Documented: random, first gain, rising, near 95 %; in episodes of all envs together."""
NEAR = 0.90
GAIN = 0.05
DEFINITIONS = ("strict", "effective", "targeted")
"""The intended definition, ours, and the one that the published results used."""
NEIGHBOURS = (DEFAULT_ORDER, "EDSHU", "DSEHU", "DEHSU", "SDEHU")
"""Similar orders, so that a policy that follows one soon follows the next."""
FEWEST, MORE = 5, 10


def measure_convergence(lab: Lab) -> Finding:
    """Measure claim 12: near 95 % after 125 to 250 episodes."""
    per_env, rounds = (40, 2) if lab.quick else (200, 8)
    budget = per_env * N_ENVS
    cases = [training(N_ENVS, per_env, definition=name) for name in DEFINITIONS]
    found = lab.train(cases, rounds=rounds)
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


def measure_early_stop(lab: Lab) -> Finding:
    """Measure claim 14: a minimum of 5 episodes finds easy workflows sooner than one of 10."""
    n_envs, rounds, longest = (25, 2, 200) if lab.quick else (200, 5, 200)
    cases = [
        training(n_envs, longest, orders=NEIGHBOURS, min_episodes=fewest)
        for fewest in (FEWEST, MORE)
    ]
    soon, late = lab.train(cases, rounds=rounds)
    limit = MORE * n_envs * EPISODE
    saved, scores, easy, inherited, all_of = [], [], 0, 0, 0
    for a, b in zip(soon, late, strict=True):
        pairs = list(zip(a.workflows, b.workflows, strict=True))
        both = [pair for pair in pairs if all(_easy(one, limit) for one in pair)]
        easy, all_of = easy + len(both), all_of + len(pairs)
        inherited += sum(pair in both for pair in pairs[1:])
        if both:
            saved.append(sum(p[1].env_steps for p in both) / sum(p[0].env_steps for p in both))
            scores.append(sum(p[0].score - p[1].score for p in both) / len(both))
    scaled = fewer_envs(n_envs, MANY)
    if not saved:
        return Finding(
            measured=f"0 of {all_of} workflows were easy",
            interval=None,
            verdict=NOT,
            why=f"No workflow reached 95 % within {MORE} episodes, so the minimum never mattered.",
            values={"easy": 0.0, "workflows": float(all_of)},
            scaled=scaled,
        )
    factor, lost = typical(lab, saved), lab.mean(scores)
    return Finding(
        measured=f"easy workflows end {times(factor)} sooner ({easy} of {all_of} were easy)",
        interval=factor,
        verdict=_early_stop_verdict(factor, lost),
        why=(
            f"{easy} of {all_of} workflows, {inherited} of these with an inherited policy, reached "
            f"95 % within {MORE} episodes; with a minimum of {FEWEST} they ended {times(factor)} "
            f"sooner and their score changed by {amount(lost, 'points')}."
        ),
        values={
            "factor": factor.value,
            "easy": float(easy),
            "easy_and_inherited": float(inherited),
            "workflows": float(all_of),
            "score_difference": lost.value,
        },
        scaled=scaled,
    )


def _stage(one: WorkflowSample, stage: tuple[int, int]) -> float:
    """Return the mean compliance between two numbers of episodes, or the last if it had ended."""
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


def _easy(one: WorkflowSample, limit: int) -> bool:
    return one.steps_to_compliance is not None and one.steps_to_compliance <= limit


def _early_stop_verdict(factor: Interval, lost: Interval) -> Verdict:
    if bounds(factor)[0] <= 1.0:
        return UNTESTABLE if factor.value > 1.0 else NOT
    worse = lost.high is not None and lost.high < 0
    return IN_PART if worse else REPRODUCED
