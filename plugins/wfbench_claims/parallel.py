"""Claims 6 and 8: many environments against one."""

from __future__ import annotations

from wfbench.contract import CollectCase, Finding, Lab

from .conditions import CYBORG, EPISODE, NO_CONSTRUCTION, shm_per_env
from .judging import (
    CLOSE,
    amount,
    combined,
    number,
    reached,
    times,
    typical,
    verdict_if,
    within_cores,
)
from .timed_workflows import timed_workflows

SINGLE_FACTOR, SINGLE_ENVS = 10.0, 25
SEQUENTIAL_RATE, PARALLEL_RATE, PARALLEL_FACTOR, PARALLEL_ENVS = 10.0, 100.0, 5.0, 100
"""The lower ends of 10-30 and 100-200 episodes/s and of 5-10x."""


def measure_single(lab: Lab) -> Finding:
    """Claim 6: 25 envs are 10 times faster than one and give 25 times the data per gradient."""
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
        scaled=_scaled(n_envs, SINGLE_ENVS),
    )


def measure_sequential(lab: Lab) -> Finding:
    """Claim 8: 100 to 200 episodes/s in parallel, 10 to 30 one after the other."""
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
        scaled=_scaled(n_envs, PARALLEL_ENVS),
    )


def _scaled(n_envs: int, documented: int) -> tuple[str, ...]:
    fewer = (f"{n_envs} envs in place of {documented}",) if n_envs != documented else ()
    return (*fewer, NO_CONSTRUCTION)
