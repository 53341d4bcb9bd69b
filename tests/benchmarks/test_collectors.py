"""Speed of the collectors, as ratios within one run: each sample from a fresh process, interleaved.

`pytest tests/benchmarks --benchmark-only` runs them. CPU time and memory are compared with bounds,
wall time only with what was measured beside it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Settings
from wfbench.benchmarks.measure.runner import run_session
from wfbench.benchmarks.measure.summary import CaseSummary, equal_work, summarise
from wfbench.benchmarks.measure.trial import DEADLINES
from wfbench.benchmarks.statistics.intervals import ratio_estimate
from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, Policy
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench_cage2 import Cage2Env
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.shm import ShmCollector
from wfbench_collectors.vector import VectorCollector

pytestmark = pytest.mark.timeout(600)

N_ENVS = 200
CAGE2 = EnvRef("cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", {})


def once(benchmark: Any, function: Callable[[], Any]) -> Any:
    return benchmark.pedantic(function, rounds=1, iterations=1)


def measure(
    benchmark: Any,
    collectors: Sequence[str],
    *,
    env: str = "cage2",
    n_envs: Sequence[int] = (N_ENVS,),
    policy: str = "random",
    options: dict[str, dict[str, Any]] | None = None,
    **settings: Any,
) -> list[CaseSummary]:
    """Measure cases, insist that nothing failed and that all did the same work."""
    cases = select_cases(
        load_plugins(PluginSettings()),
        collectors=collectors,
        env=env,
        n_envs=n_envs,
        policy=policy,
        options=options or {},
    )
    chosen = Settings(**{"rounds": 3, "seconds": 0.5, "steps": 25, **settings})
    session = once(benchmark, lambda: run_session(cases, chosen))
    summaries = summarise(session)
    assert [summary.failures for summary in summaries] == [()] * len(cases)
    assert all(work.equal for work in equal_work(session))
    for summary in summaries:
        name = f"{summary.label} {summary.n_envs}"
        benchmark.extra_info[f"{name} transitions/s"] = round(summary.figures.rate.value)
        benchmark.extra_info[f"{name} CPU us"] = round(summary.figures.cpu_us, 3)
        benchmark.extra_info[f"{name} start-up s"] = round(summary.figures.start_up, 2)
        benchmark.extra_info[f"{name} MiB"] = round(summary.figures.memory / 2**20)
        if summary.ratio is not None:
            benchmark.extra_info[f"{name} x first"] = round(summary.ratio.value, 2)
    return summaries


def test_shm_is_50_times_pipe_and_costs_little(benchmark: Any) -> None:
    pipe, shm, vector = measure(benchmark, ["pipe", "shm", "vector"])
    assert shm.ratio.value >= 50
    assert shm.figures.cpu_us - vector.figures.cpu_us <= 2.0
    assert max(shm.figures.memory, vector.figures.memory) <= 512 * 2**20
    assert pipe.figures.memory > shm.figures.memory


def test_starting_200_environments_takes_a_few_interpreter_starts(benchmark: Any) -> None:
    pipe, shm, vector = measure(benchmark, ["pipe", "shm", "vector"], seconds=0.05, steps=2)
    unit = min(_interpreter_start() for _ in range(3))
    benchmark.extra_info["interpreter with numba s"] = round(unit, 2)
    assert vector.figures.start_up <= 3 * unit
    assert shm.figures.start_up <= 4 * unit
    assert pipe.figures.start_up <= 16 * unit


def _interpreter_start() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numba"], check=True, timeout=60)
    return time.perf_counter() - began


@pytest.mark.parametrize("policy", ["random", "network"])
def test_time_per_transition_does_not_grow_with_the_number_of_envs(
    benchmark: Any, policy: str
) -> None:
    few, many = measure(
        benchmark, ["vector"], n_envs=[N_ENVS, 100 * N_ENVS], policy=policy, steps=50, seconds=1.0
    )
    assert many.figures.cpu_us <= 1.5 * few.figures.cpu_us


def test_what_the_documented_speed_up_is_made_of(benchmark: Any) -> None:
    """From pipes with the true state and a process per env to shared memory, step by step."""
    chain = {
        "payload": "pipe:payload=mask",
        "layout": "pipe:payload=mask,workers=2",
        "transport": "shm:payload=mask,workers=2",
    }
    first, *rest = measure(
        benchmark,
        ["pipe:payload=true-state", *chain.values()],
        env="synthetic:cyborg",
        n_envs=[16],
        options={"synthetic": {"construct": 0.0}},
        steps=10,
        seconds=1.0,
    )
    rates = [summary.figures.rate.value for summary in (first, *rest)]
    for name, before, after in zip(chain, rates[:-1], rates[1:], strict=True):
        benchmark.extra_info[f"factor of {name}"] = round(after / before, 2)
    payload = rates[1] / rates[0]
    # A step costs 3.0 ms and the true state 1.8 ms more, before anything is moved.
    assert payload >= 1.3


def test_vector_is_10_times_the_loop_that_evaluates_torch_on_every_row(
    benchmark: Any, torch_on_every_row: Callable[..., Any]
) -> None:
    ours = NetworkPolicy.initial(52, 145, 0)
    tuned, usual = (torch_on_every_row(ours, tuned=tuned) for tuned in (True, False))
    plan = make_plan(CAGE2, N_ENVS, 3, deadlines=DEADLINES)
    with VectorCollector(1) as collector, VectorCollector(1) as other:
        collector.open(plan)
        other.open(plan)
        first, same = collector.collect(ours, 100), other.collect(tuned, 100)
        agree = (first.actions == same.actions).mean()
        assert agree > 0.99, "torch and the compiled networks must be the same policy"
        costs: dict[str, list[float]] = {"ours": [], "new": [], "usual": [], "tuned": []}

        def rounds() -> None:
            for _ in range(7):
                costs["ours"].append(_cpu(collector, ours))
                # As in training, where every update brings a new policy with an empty table.
                costs["new"].append(_cpu(collector, NetworkPolicy(ours.actor, ours.critic)))
                costs["usual"].append(_cpu(other, usual))
                costs["tuned"].append(_cpu(other, tuned))

        once(benchmark, rounds)
    for name, what in (("usual", "torch"), ("tuned", "tuned torch")):
        for own, when in (("ours", "same policy"), ("new", "new policy")):
            ratio = ratio_estimate(costs[name], costs[own]).value
            benchmark.extra_info[f"times {what} on every row, {when}"] = round(ratio, 1)
    assert ratio_estimate(costs["usual"], costs["ours"]).value >= 10
    assert ratio_estimate(costs["usual"], costs["new"]).value >= 10


def _cpu(collector: Any, policy: Any) -> float:
    """CPU seconds of 100 steps: all of it is this process's, and other programs do not count."""
    began = time.process_time()
    collector.collect(policy, 100)
    return time.process_time() - began


def _rate(collector: Any, policy: Any, steps: int = 100) -> float:
    began = time.perf_counter()
    rollout = collector.collect(policy, steps)
    return rollout.transitions / (time.perf_counter() - began)


def test_shm_is_50_times_gymnasium(benchmark: Any) -> None:
    actions = np.random.default_rng(0).integers(0, 145, (40, N_ENVS))
    others = gymnasium.vector.AsyncVectorEnv([Cage2Env] * N_ENVS)
    try:
        others.reset(seed=1)
        _compare(benchmark, lambda: [others.step(row) for row in actions], actions.size)
    finally:
        others.close(terminate=True)


def test_shm_is_50_times_stable_baselines(benchmark: Any) -> None:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    actions = np.random.default_rng(0).integers(0, 145, (40, N_ENVS))
    others = vec_env.SubprocVecEnv([Cage2Env] * N_ENVS)
    try:
        others.reset()
        _compare(benchmark, lambda: [others.step(row) for row in actions], actions.size)
    finally:
        others.close()


def _compare(benchmark: Any, step_others: Callable[[], Any], transitions: int) -> None:
    step_others()
    ours: list[float] = []
    theirs: list[float] = []
    policy = RandomPolicy(145)
    with ShmCollector() as shm:
        shm.open(make_plan(CAGE2, N_ENVS, 3, deadlines=DEADLINES))
        _rate(shm, policy)

        def rounds() -> None:
            for _ in range(3):
                ours.append(_rate(shm, policy, 400))
                began = time.perf_counter()
                step_others()
                theirs.append(transitions / (time.perf_counter() - began))

        once(benchmark, rounds)
    ratio = ratio_estimate(ours, theirs)
    benchmark.extra_info["times"] = round(ratio.value, 1)
    assert ratio.value >= 50


@pytest.mark.parametrize(("kind", "factor"), [(ShmCollector, 50), (AsyncCollector, 10)])
def test_resetting_costs_next_to_nothing_beside_opening(
    benchmark: Any, kind: Callable[[], Any], factor: float
) -> None:
    plans = [make_plan(CAGE2, N_ENVS, seed, deadlines=DEADLINES) for seed in range(4)]
    forms = [replace(plan, env=replace(CAGE2, form={"orders": "all"})) for plan in plans]
    collector = kind()

    def measured() -> list[float]:
        opening, resetting, another_form = [], [], []
        for plan, form in zip(plans, forms, strict=True):
            opening.append(_seconds(lambda: collector.open(plan)))  # noqa: B023 (called at once)
            collector.collect(RandomPolicy(145), 25)
            resetting.append(_seconds(lambda: collector.reset(plan)))  # noqa: B023 (as above)
            another_form.append(_seconds(lambda: collector.reset(form)))  # noqa: B023 (as above)
            collector.close()
        return [min(times) for times in (opening, resetting, another_form)]

    with collector:
        opening, resetting, another_form = once(benchmark, measured)
    benchmark.extra_info["opening / resetting"] = round(opening / resetting)
    benchmark.extra_info["opening / another form"] = round(opening / another_form)
    assert opening >= factor * resetting
    assert opening >= 5 * another_form


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


class _AskedEachStep:
    """A policy that hides that it can make steps."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self.version, self.act, self.snapshot = policy.version, policy.act, policy.snapshot


def test_compiled_steps_save_a_tenth_of_the_cpu_time_at_least(benchmark: Any) -> None:
    policies = [
        NetworkPolicy.initial(52, 145, 1),
        _AskedEachStep(NetworkPolicy.initial(52, 145, 1)),
    ]

    def cpu_seconds(collector: VectorCollector, policy: Policy) -> float:
        began = time.process_time()
        collector.collect(policy, 100)
        return time.process_time() - began

    def pairs() -> list[list[float]]:
        with VectorCollector(1) as collector:
            collector.open(make_plan(CAGE2, N_ENVS, 5))
            return [[cpu_seconds(collector, policy) for policy in policies] for _ in range(30)]

    measured = np.array(once(benchmark, pairs))[1:]  # the first compiles or loads
    assert np.median(measured[:, 0] / measured[:, 1]) < 0.9
