"""Cost of a PPO update: once per distinct observation, against once per transition.

`pytest tests/benchmarks --benchmark-only` prints it; what is asserted are ratios within one run, of
CPU time, which other programs hardly change.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from wfbench.benchmarks.statistics.intervals import ratio_estimate
from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, Rollout, TrainerSetup
from wfbench_collectors.vector import VectorCollector
from wfbench_trainers.documented import DocumentedPpo

N_ENVS = 200
STEPS = 100


def cpu_of_update(trainer: DocumentedPpo, state: Any, rollout: Rollout) -> float:
    """CPU seconds of the same update every time."""
    trainer.load(state)
    began = time.process_time()
    trainer.update(rollout, rollout.rewards)
    return time.process_time() - began


@pytest.mark.benchmark(group="PPO update, 20,000 transitions")
@pytest.mark.parametrize(("red", "least"), [("bline", 8.0), ("meander", 2.0)])
def test_distinct_observations_pay(benchmark: Any, red: str, least: float) -> None:
    env = EnvRef(
        "cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", {"red": red}
    )
    with VectorCollector(1) as collector:
        info = collector.open(make_plan(env, N_ENVS, 3))
        setup = TrainerSetup(info, seed=5, expected_updates=10)
        each, once = (DocumentedPpo(setup, distinct=distinct) for distinct in (False, True))
        rollout = collector.collect(once.policy(), STEPS)
    state = once.state()
    costs: dict[str, list[float]] = {"each": [], "once": []}

    def rounds() -> None:
        for _ in range(7):
            costs["each"].append(cpu_of_update(each, state, rollout))
            costs["once"].append(cpu_of_update(once, state, rollout))

    benchmark.pedantic(rounds, rounds=1, iterations=1)
    gain = ratio_estimate(costs["each"], costs["once"])
    benchmark.extra_info["CPU ms, every transition"] = round(1e3 * min(costs["each"]), 1)
    benchmark.extra_info["CPU ms, every distinct one"] = round(1e3 * min(costs["once"]), 1)
    benchmark.extra_info["times"] = round(gain.value, 1)
    assert gain.value >= least
