"""Training from end to end on one thread: collection, shaping, update.

`pytest tests/benchmarks/test_training.py --benchmark-only` prints transitions per second; what is
asserted are ratios of CPU times: to the same training with the networks run on every row, and to
that with torch, both on distinct rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, TrainerSetup
from wfbench.orders.compliance import Shaper
from wfbench_collectors.vector import VectorCollector
from wfbench_trainers.documented import DocumentedPpo
from wfbench_trainers.ppo import Ppo

pytestmark = pytest.mark.timeout(600)

N_ENVS = 200
STEPS = 100
UPDATES = 50
PER_ROW_UPDATES = 5
ORDER = (0, 1, 2, 3, 4)


class Training:
    """One training that goes on and on, and what it cost."""

    def __init__(
        self,
        red: str,
        acting: Callable[..., Any] = lambda policy: policy,
        learner: Any = DocumentedPpo,
        env_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        batched = "wfbench_cage2.batch:Cage2Batch"
        given = {"red": red, **(env_options or {})}
        env = EnvRef("cage2", "wfbench_cage2.env:Cage2Env", batched, given)
        self.collector = VectorCollector(1)
        info = self.collector.open(make_plan(env, N_ENVS, 3))
        assert info.workflow is not None
        self.shaper = Shaper(info.workflow, ORDER)
        setup = TrainerSetup(info, seed=5, expected_updates=UPDATES)
        self.trainer = learner(setup, threads=1, **options)
        self.trainer.start(ORDER)
        self.acting = acting
        self.cpu = self.wall = 0.0
        self.updates = 0

    def go_on(self, updates: int) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(updates):
            rollout = self.collector.collect(self.acting(self.trainer.policy()), STEPS)
            self.trainer.update(rollout, self.shaper.shape(rollout).rewards)
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall
        self.updates += updates

    def forget_costs(self) -> None:
        self.cpu = self.wall = 0.0
        self.updates = 0

    def rate(self) -> float:
        return self.updates * N_ENVS * STEPS / self.wall


@pytest.mark.benchmark(group="training, transitions/s")
@pytest.mark.parametrize(("red", "least"), [("bline", 10.0), ("meander", 2.0)])
def test_training_on_distinct_observations_pays(
    benchmark: Any, torch_on_every_row: Callable[..., Any], red: str, least: float
) -> None:
    ours = Training(red)
    usual = Training(red, lambda policy: torch_on_every_row(policy, tuned=False), distinct=False)
    with ours.collector, usual.collector:
        usual.go_on(1)  # compiles; ours begins with the first update, when most rows differ
        usual.forget_costs()

        def interleaved() -> None:
            for _ in range(PER_ROW_UPDATES):
                ours.go_on(UPDATES // PER_ROW_UPDATES)
                usual.go_on(1)

        benchmark.pedantic(interleaved, rounds=1, iterations=1)
    gain = usual.cpu / usual.updates / (ours.cpu / ours.updates)
    benchmark.extra_info["transitions/s"] = round(ours.rate())
    benchmark.extra_info["transitions/s, networks on every row"] = round(usual.rate())
    benchmark.extra_info["times the CPU time"] = round(gain, 1)
    assert gain >= least


BEST: dict[str, Any] = {
    "learner": Ppo,
    "env_options": {"memory": True, "actions": "reduced"},
    "privileged": False,
}


@pytest.mark.benchmark(group="training, transitions/s")
@pytest.mark.parametrize(
    ("options", "least"), [({}, 1.1), (BEST, 1.8)], ids=["documented", "preset best"]
)
def test_training_by_compiled_passes_pays(
    benchmark: Any, options: dict[str, Any], least: float
) -> None:
    ours, theirs = (Training("bline", **options, backend=b) for b in ("compiled", "torch"))
    with ours.collector, theirs.collector:
        for training in (ours, theirs):
            training.go_on(1)  # compiles, or loads torch
            training.forget_costs()

        def interleaved() -> None:
            for _ in range(10):
                ours.go_on(1)
                theirs.go_on(1)

        benchmark.pedantic(interleaved, rounds=1, iterations=1)
    gain = theirs.cpu / ours.cpu
    benchmark.extra_info["transitions/s"] = round(ours.rate())
    benchmark.extra_info["transitions/s, torch on distinct rows"] = round(theirs.rate())
    benchmark.extra_info["times the CPU time"] = round(gain, 1)
    assert gain >= least
