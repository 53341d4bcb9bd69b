"""Claims 4 and 11: what a workflow costs, and what its score is made of."""

from __future__ import annotations

import math

from wfbench.contract import Finding, Lab, TrainCase, TrainSample

from .conditions import DEFAULT_ORDER, NO_CONSTRUCTION, PIPE_TRUE_STATE
from .judging import amount, combined, judge_bundle, number, times, typical, verdict_if
from .timed_workflows import timed_workflows, workflow

WORKFLOW_FACTOR = 18.0
"""The lower end of the documented 18-20x."""
SCORED, EVALUATED = 600, 20
EVALUATION_SECONDS = 20.0


def measure_workflow(lab: Lab) -> Finding:
    """Claim 4: a whole workflow is 18 to 20 times faster."""
    timed = timed_workflows(lab)
    before, same_payload, after = timed.pipe_true_state, timed.pipe, timed.shm
    alone, together = lab.ratio(same_payload, after), lab.ratio(before, after)
    return Finding(
        measured=f"{times(alone)} by shared memory and no evaluation; {times(together)} with the "
        "true state gone too",
        interval=alone,
        verdict=judge_bundle(alone, together, WORKFLOW_FACTOR),
        why=(
            f"Shared memory and no evaluation make a workflow {times(alone)} faster, "
            f"{times(together)} if true states are no longer shipped either, on {lab.cores} cores."
        ),
        values={
            "documented_factor": WORKFLOW_FACTOR,
            "before_seconds": typical(lab, before).value,
            "same_payload_seconds": typical(lab, same_payload).value,
            "after_seconds": typical(lab, after).value,
        },
        scaled=(
            f"{timed.n_envs} envs x {timed.episodes} episodes in place of 200 x 5 to 50",
            f"evaluation episodes: {timed.evaluation} in place of 20",
            NO_CONSTRUCTION,
        ),
    )


def measure_search_data(lab: Lab) -> Finding:
    """Claim 11: 600 episodes for nothing against 20 for 20 seconds."""
    rounds = 2 if lab.quick else 5
    last, evaluated, truth = lab.train(
        [_scoring("last-episodes:3"), _scoring("evaluate:20"), _scoring("evaluate:2000")],
        rounds=rounds,
    )
    played, seconds = _evaluation_seconds(lab)
    counts = {one.workflows[0].score_episodes for one in last}
    extra = sum(one.workflows[0].evaluation_steps for one in last)
    fewer = {one.workflows[0].score_episodes for one in evaluated}
    data = verdict_if(holds=counts == {SCORED} and extra == 0 and fewer == {EVALUATED})
    taken = typical(lab, seconds)
    documented = EVALUATION_SECONDS * played / EVALUATED
    slow = verdict_if(holds=taken.value >= 0.75 * documented)
    off_last, off_evaluated = _errors(last, truth), _errors(evaluated, truth)
    return Finding(
        measured=f"{max(counts)} against {max(fewer)} episodes; evaluating {played} takes "
        f"{amount(taken, 's')}",
        interval=taken,
        verdict=combined([data, slow]),
        why=(
            f"The score of {max(counts)} training episodes costs {extra:,} steps more and is off "
            f"by {number(off_last)} points, that of {max(fewer)} evaluation episodes by "
            f"{number(off_evaluated)}; {played} evaluation episodes at the simulator's cost take "
            f"{number(taken.value)} s (documented: {number(documented)} or more)."
        ),
        values={
            "scored_episodes": float(max(counts)),
            "evaluation_episodes": float(max(fewer)),
            "extra_steps": float(extra),
            "evaluation_seconds": taken.value,
            "documented_seconds": documented,
            "rms_error_last_episodes": off_last,
            "rms_error_evaluation": off_evaluated,
        },
        scaled=(
            *((f"evaluation episodes: {played} in place of 20",) if played != EVALUATED else ()),
            NO_CONSTRUCTION,
        ),
    )


def _scoring(score: str) -> TrainCase:
    return TrainCase(
        trainer="ppo-parallel",
        orders=(DEFAULT_ORDER,),
        settings={
            "n_envs": 200,
            "max_episodes": 10,
            "min_episodes": 5,
            "stop": "budget",
            "score": score,
        },
    )


def _evaluation_seconds(lab: Lab) -> tuple[int, list[float]]:
    """How many episodes were evaluated one after the other, and how long that took by round."""
    played, rounds = (2, 1) if lab.quick else (EVALUATED, 3)
    [samples] = lab.train(
        [workflow(PIPE_TRUE_STATE, 1, 1, f"evaluate:{played}")], rounds=rounds, fresh=True
    )
    return played, [sample.seconds["search"] for sample in samples]


def _errors(scored: list[TrainSample], truth: list[TrainSample]) -> float:
    """Root mean square distance of scores from what the same policies are worth."""
    squares = [
        (one.workflows[0].score - other.workflows[0].score) ** 2
        for one, other in zip(scored, truth, strict=True)
    ]
    return math.sqrt(sum(squares) / len(squares))
