"""Claim 9: memory of many environments."""

from __future__ import annotations

from wfbench.contract import Finding, Interval, Lab, TrainCase, Verdict

from .conditions import WEIGHTLESS
from .judging import NOT, REPRODUCED, UNTESTABLE, combined, number, reached, times, typical

SOME, MANY = 25, 100
MANY_BYTES, GROWTH, SAME = 5e9, 10.0, 1.25
"""5 GB is the lower end of 5-10 GB, ten times the documented 500 MB of one environment."""


def measure_memory(lab: Lab) -> Finding:
    """Claim 9: 5 to 10 GB for 100 envs, 500 MB for one; and 25 no more than one."""
    rounds = 1 if lab.quick else 3
    counts = (1, SOME, MANY)
    cases = [_held("pipe", count) for count in counts]
    cases.append(_held("shm", MANY))
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


def _held(collector: str, n_envs: int) -> TrainCase:
    return TrainCase(
        trainer="ppo-parallel",
        orders=("0",),
        collector=collector,
        env=WEIGHTLESS,
        settings={
            "n_envs": n_envs,
            "update_every": 25,
            "max_episodes": 1,
            "min_episodes": 1,
            "stop": "budget",
        },
    )


def _same_footprint(same: Interval) -> Verdict:
    high = same.value if same.high is None else same.high
    low = same.value if same.low is None else same.low
    if high <= SAME:
        return REPRODUCED
    return NOT if low > SAME else UNTESTABLE


def _mb(held: Interval) -> str:
    return f"{number(held.value / 1e6)} MB"
