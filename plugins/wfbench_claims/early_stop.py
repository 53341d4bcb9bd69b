"""Claim 14: how many episodes a workflow must have at least."""

from __future__ import annotations

from wfbench.contract import Finding, Interval, Lab, TrainCase, Verdict, WorkflowSample

from .conditions import DEFAULT_ORDER, EPISODE
from .judging import IN_PART, NOT, REPRODUCED, UNTESTABLE, amount, times

NEIGHBOURS = (DEFAULT_ORDER, "EDSHU", "DSEHU", "DEHSU", "SDEHU")
"""Orders that agree on much, so that a policy that follows one soon follows the next."""
FEWEST, MORE = 5, 10


def measure_early_stop(lab: Lab) -> Finding:
    """Claim 14: a minimum of 5 episodes finds easy workflows sooner than one of 10."""
    n_envs, rounds, longest = (25, 2, 200) if lab.quick else (200, 5, 200)
    soon, late = lab.train(
        [_stopping(n_envs, fewest, longest) for fewest in (FEWEST, MORE)], rounds=rounds
    )
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
    scaled = (f"{n_envs} envs in place of 200",) if n_envs != 200 else ()
    if not saved:
        return Finding(
            measured=f"0 of {all_of} workflows were easy",
            interval=None,
            verdict=NOT,
            why=f"No workflow reached 95 % within {MORE} episodes, so the minimum never mattered.",
            values={"easy": 0.0, "workflows": float(all_of)},
            scaled=scaled,
        )
    factor, lost = lab.ratio(saved, [1.0] * len(saved)), lab.mean(scores)
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


def _stopping(n_envs: int, fewest: int, longest: int) -> TrainCase:
    return TrainCase(
        trainer="ppo-parallel",
        orders=NEIGHBOURS,
        settings={"n_envs": n_envs, "max_episodes": longest, "min_episodes": fewest},
    )


def _easy(one: WorkflowSample, limit: int) -> bool:
    return one.steps_to_compliance is not None and one.steps_to_compliance <= limit


def _early_stop_verdict(factor: Interval, lost: Interval) -> Verdict:
    low = factor.value if factor.low is None else factor.low
    if low <= 1.0:
        return UNTESTABLE if factor.value > 1.0 else NOT
    worse = lost.high is not None and lost.high < 0
    return IN_PART if worse else REPRODUCED
