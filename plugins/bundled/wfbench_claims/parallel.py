"""Claims 6, 8 and 9: many environments against one, in time and memory."""

from __future__ import annotations

from wfbench.contract import CollectCase, Finding, Interval, Lab, TrainCase, Verdict

from .conditions import (
    CYBORG,
    EPISODE,
    NO_CONSTRUCTION,
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
    number,
    reached,
    times,
    typical,
    verdict_if,
    within_cores,
)
from .workflow_time import timed_workflows

SINGLE_FACTOR, SINGLE_ENVS = 10.0, 25
SEQUENTIAL_RATE, PARALLEL_RATE, PARALLEL_FACTOR, PARALLEL_ENVS = 10.0, 100.0, 5.0, 100
"""The lower ends of 10-30 and 100-200 episodes/s and of 5-10x."""
HELD = (1, 25, 100)
"""Environments whose memory is compared."""
MANY_BYTES, GROWTH, SAME = 5e9, 10.0, 1.25
"""5 GB is the lower end of 5-10 GB, ten times the documented 500 MB of one environment."""


def measure_single(lab: Lab) -> Finding:
    """Measure claim 6: 25 envs are 10 times faster than one and learn from 25 times the data."""
    timed = timed_workflows(lab)
    n_envs, single, parallel = timed.n_envs, timed.single, timed.shm
    factor = lab.ratio(single, parallel)
    data = timed.shm_transitions / timed.single_transitions
    wall = within_cores(factor, SINGLE_FACTOR, lab.cores)
    return Finding(
        measured=f"wall clock {times(factor)}; data per gradient {number(data)}x",
        interval=factor,
        verdict=combined([verdict_if(holds=data == n_envs), wall]),
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
                verdict_if(holds=per_core.value >= CLOSE * SEQUENTIAL_RATE),
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
