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
from wfbench.processes.limits import usable_cores
from wfbench_collectors.vector import VectorCollector
from wfbench_trainers.documented import DocumentedPpo
from wfbench_trainers.ppo import Ppo

N_ENVS = 200
STEPS = 100


def cpu_of_update(trainer: DocumentedPpo | Ppo, state: Any, rollout: Rollout) -> float:
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


def distinct_update(red: str, *choices: dict[str, Any]) -> tuple[list[Ppo], Any, Rollout]:
    """Trainers with the same weights and a rollout; with `meander` most of its rows differ."""
    options = {"red": red, "memory": True, "actions": "reduced"}
    env = EnvRef("cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", options)
    with VectorCollector(1) as collector:
        info = collector.open(make_plan(env, N_ENVS, 3))
        setup = TrainerSetup(info, seed=5, expected_updates=10)
        trainers = [Ppo(setup, **chosen) for chosen in choices]
        rollout = collector.collect(trainers[0].policy(), STEPS)
    return trainers, trainers[0].state(), rollout


@pytest.mark.benchmark(group="PPO update, 20,000 transitions")
def test_compiled_passes_pay(benchmark: Any) -> None:
    choices = ({"backend": "torch", "threads": 1}, {"backend": "compiled", "threads": 1})
    (torch, compiled), state, rollout = distinct_update("meander", *choices)
    costs: dict[str, list[float]] = {"torch": [], "compiled": []}
    cpu_of_update(compiled, state, rollout)  # compiles

    def rounds() -> None:
        for _ in range(7):
            costs["torch"].append(cpu_of_update(torch, state, rollout))
            costs["compiled"].append(cpu_of_update(compiled, state, rollout))

    benchmark.pedantic(rounds, rounds=1, iterations=1)
    gain = ratio_estimate(costs["torch"], costs["compiled"])
    for name, seconds in costs.items():
        benchmark.extra_info[f"CPU ms, {name}"] = round(1e3 * min(seconds), 1)
    benchmark.extra_info["times"] = round(gain.value, 1)
    assert gain.value >= 2.3


@pytest.mark.benchmark(group="PPO update, 20,000 transitions")
@pytest.mark.skipif(usable_cores() < 2, reason="two threads need two cores")
@pytest.mark.parametrize(
    ("red", "options"),
    [("bline", {"privileged": False}), ("meander", {})],
    ids=["preset best", "mostly distinct rows"],
)
def test_a_second_thread_pays(benchmark: Any, red: str, options: dict[str, Any]) -> None:
    """By the clock, so on cores that nothing else uses; `work shared` is what CPU times promise."""
    choices = ({**options, "threads": threads} for threads in (1, 2))
    (one, two), state, rollout = distinct_update(red, *choices)
    clock: dict[int, list[float]] = {1: [], 2: []}
    busiest: list[float] = []
    alone: list[float] = [cpu_of_update(one, state, rollout)]

    def rounds() -> None:
        for _ in range(15):
            for threads, trainer in ((1, one), (2, two)):
                trainer.load(state)
                began, own = time.perf_counter(), time.thread_time()
                everything = time.process_time()
                trainer.update(rollout, rollout.rewards)
                clock[threads].append(time.perf_counter() - began)
                caller = time.thread_time() - own
                helper = time.process_time() - everything - caller
                (alone if threads == 1 else busiest).append(max(caller, helper))

    benchmark.pedantic(rounds, rounds=1, iterations=1)
    gain = min(clock[1]) / min(clock[2])
    benchmark.extra_info["times"] = round(gain, 2)
    benchmark.extra_info["times, work shared"] = round(min(alone) / min(busiest), 2)
    assert gain >= 1.6
