"""Speed of the CAGE-2 kernel and of its public forms.

`pytest tests/benchmarks --benchmark-only` prints them; what is asserted are ratios within one run.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from wfbench.contract import StepArrays
from wfbench_cage2 import Cage2Batch, Cage2Env, Cage2VectorEnv

REAL_SIMULATOR = 335.0
"""Steps per second and core of the reference simulator, measured elsewhere (docs/fidelity.md)."""
STEPS = 64


class Stepper:
    """A batch with everything a step needs allocated once."""

    def __init__(self, num_envs: int, red: str = "bline") -> None:
        self.batch = Cage2Batch(num_envs, red)
        self.out = StepArrays(
            obs=np.zeros((num_envs, 52), np.uint8),
            rewards=np.zeros(num_envs, np.float32),
            terminated=np.zeros(num_envs, np.bool_),
            truncated=np.zeros(num_envs, np.bool_),
            final_obs=np.zeros((num_envs, 52), np.uint8),
            compromised=np.zeros(num_envs, np.uint32),
            ended_session=np.zeros(num_envs, np.bool_),
        )
        self.actions = np.random.default_rng(0).integers(0, 145, (STEPS, num_envs))
        self.batch.reset(np.arange(num_envs, dtype=np.uint64), self.out.obs)

    def run(self) -> None:
        for actions in self.actions:
            self.batch.step(actions, self.out)


def rate(stepper: Stepper) -> float:
    """Steps per second of CPU time."""
    began = time.thread_time()
    stepper.run()
    return STEPS * stepper.batch.num_envs / (time.thread_time() - began)


@pytest.mark.benchmark(group="cage2 kernel, 64 vector steps")
@pytest.mark.parametrize("red", ["bline", "meander"])
@pytest.mark.parametrize("num_envs", [1, 200, 20_000])
def test_batched_step(benchmark, num_envs, red):
    stepper = Stepper(num_envs, red)
    benchmark(stepper.run)
    per_second = STEPS * num_envs / benchmark.stats.stats.min
    benchmark.extra_info["steps_per_second"] = round(per_second)
    benchmark.extra_info["times_the_real_simulator"] = round(per_second / REAL_SIMULATOR)


@pytest.mark.benchmark(group="cage2 growth")
def test_time_per_step_is_flat_from_200_to_20000_envs(benchmark):
    small, large = Stepper(200), Stepper(20_000)
    small.run()
    large.run()

    def ratio() -> float:
        return rate(small) / rate(large)

    ratios = [ratio() for _ in range(15)]
    benchmark(large.run)
    benchmark.extra_info["time_per_step_20000_over_200"] = round(float(np.median(ratios)), 3)
    assert np.median(ratios) <= 1.25


@pytest.mark.benchmark(group="cage2 vector env")
def test_a_vector_env_step_takes_little_more_than_the_batch(benchmark):
    plain, env = Stepper(200), Cage2VectorEnv(200, seed=list(range(200)))
    env.reset()

    def run() -> None:
        for actions in plain.actions:
            env.step(actions)

    def ratio() -> float:
        began = time.thread_time()
        run()
        return (time.thread_time() - began) * rate(plain) / (STEPS * 200)

    run()
    ratios = [ratio() for _ in range(41)]
    benchmark(run)
    benchmark.extra_info["time_over_batch"] = round(float(np.median(ratios)), 3)
    assert np.median(ratios) <= 1.15


@pytest.mark.benchmark(group="cage2 scalar")
def test_scalar_step(benchmark):
    env = Cage2Env(episode_steps=10**9, seed=0)
    env.reset()
    actions = np.random.default_rng(0).integers(0, 145, 1000)

    def run() -> None:
        for action in actions:
            env.step(action)

    benchmark(run)
    benchmark.extra_info["microseconds_per_step"] = round(benchmark.stats.stats.min * 1e3, 2)


@pytest.mark.benchmark(group="cage2 scalar")
def test_scalar_reset(benchmark):
    env = Cage2Env(seed=0)
    benchmark(env.reset)


@pytest.mark.benchmark(group="cage2 start")
def test_first_step_of_a_fresh_process_with_a_warm_cache(benchmark):
    code = "from wfbench_cage2 import Cage2Env; e = Cage2Env(); e.reset(); e.step(0)"

    def first_step() -> None:
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

    first_step()
    benchmark.pedantic(first_step, rounds=5)
