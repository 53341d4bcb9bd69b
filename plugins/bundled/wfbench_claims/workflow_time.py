"""Claims 4 and 11: what a workflow costs, and what its score is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wfbench.contract import Finding, Lab, TrainCase, TrainSample

from .conditions import CYBORG, MANY, NO_CONSTRUCTION, PIPE_TRUE_STATE, shm_per_env, training
from .judging import amount, combined, judge_bundle, number, times, typical, verdict_if

WORKFLOW_FACTOR = 18.0
"""The lower end of the documented 18-20x."""
SCORED, EVALUATED = 600, 20
EVALUATION_SECONDS = 20.0


@dataclass(frozen=True)
class TimedWorkflows:
    """Seconds by round for equally many environment steps, and the sizes."""

    n_envs: int
    episodes: int
    """Of each env."""
    evaluation: int
    """Episodes of the evaluation after training, where there is one."""
    pipe_true_state: list[float]
    pipe: list[float]
    shm: list[float]
    single: list[float]
    """One env, one episode after the other, an update after each; no evaluation."""
    shm_transitions: int
    """Per update."""
    single_transitions: int


def measure_workflow(lab: Lab) -> Finding:
    """Measure claim 4: a whole workflow is 18 to 20 times faster."""
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
    """Measure claim 11: 600 episodes for nothing against 20 for 20 seconds."""
    rounds = 2 if lab.quick else 5
    last, evaluated, truth = lab.train(
        [
            training(MANY, 10, min_episodes=5, stop="budget", score=score)
            for score in ("last-episodes:3", "evaluate:20", "evaluate:2000")
        ],
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


def timed_workflows(lab: Lab) -> TimedWorkflows:
    """Measure the workflows, each in a process of its own."""
    n_envs, episodes, evaluation, rounds = (2, 2, 1, 2) if lab.quick else (25, 3, 2, 3)
    evaluated, from_training = f"evaluate:{evaluation}", "last-episodes:3"
    single = n_envs * episodes
    samples = lab.train(
        [
            _workflow(PIPE_TRUE_STATE, n_envs, episodes, evaluated),
            _workflow("pipe", n_envs, episodes, evaluated),
            _workflow(shm_per_env(n_envs), n_envs, episodes, from_training),
            _workflow("sequential", 1, single, from_training, trainer="ppo-episode"),
        ],
        rounds=rounds,
        fresh=True,
    )
    true_state, pipe, shm, alone = ([sample.working for sample in of_case] for of_case in samples)
    sizes = [of_case[0].workflows[0].rollouts.transitions[0] for of_case in samples]
    seconds = true_state, pipe, shm, alone
    return TimedWorkflows(n_envs, episodes, evaluation, *seconds, sizes[2], sizes[3])


def _workflow(
    collector: str, n_envs: int, episodes: int, score: str, trainer: str = "ppo-parallel"
) -> TrainCase:
    """Return the training of one order for exactly `episodes` episodes of each env."""
    return training(
        n_envs,
        episodes,
        orders=("0",),
        trainer=trainer,
        collector=collector,
        env=CYBORG,
        min_episodes=episodes,
        stop="budget",
        score=score,
    )


def _evaluation_seconds(lab: Lab) -> tuple[int, list[float]]:
    """Return how many episodes were evaluated one after the other, and the seconds by round."""
    played, rounds = (2, 1) if lab.quick else (EVALUATED, 3)
    [samples] = lab.train(
        [_workflow(PIPE_TRUE_STATE, 1, 1, f"evaluate:{played}")], rounds=rounds, fresh=True
    )
    return played, [sample.seconds["search"] for sample in samples]


def _errors(scored: list[TrainSample], truth: list[TrainSample]) -> float:
    """Return the root mean square distance of scores from the true values of the policies."""
    squares = [
        (one.workflows[0].score - other.workflows[0].score) ** 2
        for one, other in zip(scored, truth, strict=True)
    ]
    return math.sqrt(sum(squares) / len(squares))
