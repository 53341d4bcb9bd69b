"""Claims 4, 6, 8, 9 and 11: what workflows cost, of many environments and of one."""

from __future__ import annotations

import math
from typing import NamedTuple

from wfbench.contract import CollectCase, Finding, Interval, Lab, TrainCase, TrainSample, Verdict

from .conditions import (
    CYBORG,
    EPISODE,
    MANY,
    NO_CONSTRUCTION,
    PIPE_TRUE_STATE,
    WEIGHTLESS,
    fewer_envs,
    shm_per_env,
    training,
)
from .judging import (
    CLOSE,
    NOT,
    REPRODUCED,
    UNTESTABLE,
    amount,
    bounds,
    combined,
    judge_bundle,
    number,
    reached,
    times,
    typical,
    within_cores,
)

WORKFLOW_FACTOR = 18.0
"""The lower end of the documented 18-20x."""
SCORED, EVALUATED = 600, 20
EVALUATION_SECONDS = 20.0
SINGLE_FACTOR, SINGLE_ENVS = 10.0, 25
SEQUENTIAL_RATE, PARALLEL_RATE, PARALLEL_FACTOR, PARALLEL_ENVS = 10.0, 100.0, 5.0, 100
"""The lower ends of 10-30 and 100-200 episodes/s and of 5-10x."""
HELD = (1, 25, 100)
"""Environments whose memory is compared."""
MANY_BYTES, GROWTH, SAME = 5e9, 10.0, 1.25
"""5 GB is the lower end of 5-10 GB, ten times the documented 500 MB of one environment."""


class TimedWorkflows(NamedTuple):
    """Equally many environment steps of pipes with the true state, pipes, shared memory, one env.

    The one env plays an episode after the other with an update after each, and is not evaluated.
    """

    n_envs: int
    episodes: int
    """Of each env."""
    evaluation: int
    """Episodes of the evaluation after training, where there is one."""
    seconds: list[list[float]]
    """By round."""
    transitions: list[int]
    """Per update."""


def measure_workflow(lab: Lab) -> Finding:
    """Measure claim 4: a whole workflow is 18 to 20 times faster."""
    timed = _timed_workflows(lab)
    before, same_payload, after, _ = timed.seconds
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
    data = REPRODUCED if counts == {SCORED} and extra == 0 and fewer == {EVALUATED} else NOT
    taken = typical(lab, seconds)
    documented = EVALUATION_SECONDS * played / EVALUATED
    slow = REPRODUCED if taken.value >= 0.75 * documented else NOT
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


def measure_single(lab: Lab) -> Finding:
    """Measure claim 6: 25 envs are 10 times faster than one and learn from 25 times the data."""
    timed = _timed_workflows(lab)
    n_envs, (_, _, parallel, single) = timed.n_envs, timed.seconds
    factor = lab.ratio(single, parallel)
    data = timed.transitions[2] / timed.transitions[3]
    wall = within_cores(factor, SINGLE_FACTOR, lab.cores)
    return Finding(
        measured=f"wall clock {times(factor)}; data per gradient {number(data)}x",
        interval=factor,
        verdict=combined([REPRODUCED if data == n_envs else NOT, wall]),
        why=(
            f"The data of an update grow {number(data)}x, as {n_envs} envs must make them; the "
            f"same number of steps is trained {times(factor)} as fast, and environments that "
            f"compute cannot gain more than the {lab.cores} cores there are."
        ),
        values={
            "documented_factor": SINGLE_FACTOR,
            "data_factor": data,
            "single_seconds": typical(lab, single).value,
            "parallel_seconds": typical(lab, parallel).value,
            "cores": float(lab.cores),
        },
        scaled=(*fewer_envs(n_envs, SINGLE_ENVS), NO_CONSTRUCTION),
    )


def measure_sequential(lab: Lab) -> Finding:
    """Measure claim 8: 100 to 200 episodes/s in parallel, 10 to 30 one after the other."""
    n_envs, rounds = (4, 2) if lab.quick else (PARALLEL_ENVS, 3)
    one, many = lab.collect(
        [
            CollectCase(collector="sequential", env=CYBORG, n_envs=1, policy="network"),
            CollectCase(collector=shm_per_env(n_envs), env=CYBORG, n_envs=n_envs, policy="network"),
        ],
        rounds=rounds,
        steps=EPISODE,
        seconds=0.5,
    )
    rates = [[sample.rate / EPISODE for sample in of_case] for of_case in (one, many)]
    sequential, parallel = typical(lab, rates[0]), typical(lab, rates[1])
    # By CPU time, which others who use the machine do not take away.
    per_core = typical(lab, [sample.transitions / EPISODE / sample.cpu for sample in one])
    factor = lab.ratio(rates[1], rates[0])
    needed = PARALLEL_RATE / per_core.value
    return Finding(
        measured=f"{amount(parallel, 'episodes/s')} against {amount(sequential, 'episodes/s')}, "
        f"{times(factor)}",
        interval=factor,
        verdict=combined(
            [
                REPRODUCED if per_core.value >= CLOSE * SEQUENTIAL_RATE else NOT,
                reached(parallel.value, PARALLEL_RATE, possible=lab.cores >= CLOSE * needed),
                within_cores(factor, PARALLEL_FACTOR, lab.cores),
            ]
        ),
        why=(
            f"A core that does nothing else makes {number(per_core.value)} episodes/s of one "
            f"environment at the simulator's cost, where 10 to 30 are documented; in parallel "
            f"they are {number(factor.value)}x as many on {lab.cores} cores, and 100 episodes/s "
            f"would take at least {number(needed)} of them."
        ),
        values={
            "sequential_rate": sequential.value,
            "rate_per_core": per_core.value,
            "parallel_rate": parallel.value,
            "factor": factor.value,
            "cores_needed": needed,
        },
        scaled=(*fewer_envs(n_envs, PARALLEL_ENVS), NO_CONSTRUCTION),
    )


def measure_memory(lab: Lab) -> Finding:
    """Measure claim 9: 5 to 10 GB for 100 envs, 500 MB for one; and 25 no more than one."""
    rounds = 1 if lab.quick else 3
    cases = [*(_memory_case("pipe", count) for count in HELD), _memory_case("shm", HELD[-1])]
    samples = lab.train(cases, rounds=rounds, fresh=True)
    held = [[float(sample.memory) for sample in of_case] for of_case in samples]
    one, some, many, slices = (typical(lab, values) for values in held)
    same, growth = lab.ratio(held[1], held[0]), lab.ratio(held[2], held[0])
    return Finding(
        measured=f"1 env {_mb(one)}, 25 envs {_mb(some)}, 100 envs {_mb(many)}; 25 to 1 "
        f"{times(same)}",
        interval=same,
        verdict=combined(
            [
                reached(many.value, MANY_BYTES, possible=False),
                reached(growth.value, GROWTH, possible=False),
                _same_footprint(same),
            ]
        ),
        why=(
            f"With a process per env 25 envs take {number(same.value)}x the memory of one and 100 "
            f"take {number(growth.value)}x, in slices {number(slices.value / one.value)}x, where "
            "the environment itself weighs nothing; whether 100 take 5-10 GB depends on the "
            "simulator's own memory, which no environment here has."
        ),
        values={
            "one_bytes": one.value,
            "some_bytes": some.value,
            "many_bytes": many.value,
            "slices_bytes": slices.value,
            "same_factor": same.value,
            "growth_factor": growth.value,
        },
        scaled=("an environment without memory of its own, so this is the least it can be",),
    )


def _timed_workflows(lab: Lab) -> TimedWorkflows:
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
    seconds = [[sample.working for sample in of_case] for of_case in samples]
    sizes = [of_case[0].workflows[0].rollouts.transitions[0] for of_case in samples]
    return TimedWorkflows(n_envs, episodes, evaluation, seconds, sizes)


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


def _memory_case(collector: str, n_envs: int) -> TrainCase:
    return training(
        n_envs,
        1,
        orders=("0",),
        collector=collector,
        env=WEIGHTLESS,
        update_every=25,
        stop="budget",
    )


def _same_footprint(same: Interval) -> Verdict:
    low, high = bounds(same)
    if high <= SAME:
        return REPRODUCED
    return NOT if low > SAME else UNTESTABLE


def _mb(held: Interval) -> str:
    return f"{number(held.value / 1e6)} MB"
