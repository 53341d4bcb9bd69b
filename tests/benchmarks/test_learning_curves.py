"""Compiled passes learn as fast as torch, measured in returns: five seeds, paired.

`pytest tests/benchmarks/test_learning_curves.py -s` prints the curves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, TrainerSetup
from wfbench.orders.compliance import Shaper
from wfbench_collectors.vector import VectorCollector
from wfbench_trainers.documented import DocumentedPpo
from wfbench_trainers.ppo import Ppo

pytestmark = pytest.mark.timeout(900)

ORDER = (2, 1, 4, 3, 0)
SEEDS = range(5)
UPDATES = 24
LAST = 8
T_99 = 4.604
"""The quantile of Student's distribution for five pairs and an interval of 99 %."""


def curve(learner: type[Ppo | DocumentedPpo], backend: str, seed: int) -> list[float]:
    """Return the mean return of the episodes of every update."""
    options = {"red": "bline", "memory": True, "actions": "reduced"}
    env = EnvRef("cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", options)
    returns = []
    with VectorCollector(1) as collector:
        info = collector.open(make_plan(env, 50, seed))
        assert info.workflow is not None
        shaper = Shaper(info.workflow, ORDER, weight=3.0)
        setup = TrainerSetup(info, seed=seed, expected_updates=UPDATES)
        trainer = learner(setup, backend=backend, threads=1)  # type: ignore[arg-type]
        trainer.start(ORDER)
        for _ in range(UPDATES):
            rollout = collector.collect(trainer.policy(), 100)
            shaped = shaper.shape(rollout)
            trainer.update(rollout, shaped.rewards)
            returns.append(float(shaped.episodes.env_return.mean()))
    return returns


@pytest.mark.benchmark(group="learning curves")
@pytest.mark.parametrize("learner", [Ppo, DocumentedPpo])
def test_returns_are_those_of_torch(benchmark: Any, learner: Any) -> None:
    def curves() -> np.ndarray:
        backends = ("compiled", "torch")
        return np.array([[curve(learner, name, seed) for seed in SEEDS] for name in backends])

    found = benchmark.pedantic(curves, rounds=1, iterations=1)
    ours, theirs = found.mean(axis=1)
    print("\nupdate  compiled     torch")  # noqa: T201 (-s asks for it)
    for number in range(0, UPDATES, 4):
        print(f"{number:6}  {ours[number]:8.1f}  {theirs[number]:8.1f}")  # noqa: T201 (see above)
    ends = found[:, :, -LAST:].mean(axis=2)
    pairs = ends[0] - ends[1]
    half = T_99 * pairs.std(ddof=1) / len(pairs) ** 0.5
    benchmark.extra_info["return, compiled and torch"] = [round(float(e.mean()), 1) for e in ends]
    benchmark.extra_info["difference"] = f"{pairs.mean():.1f} +- {half:.1f}"
    print(f"difference of the last {LAST}: {pairs.mean():.2f} +- {half:.2f} (99 %)")  # noqa: T201
    assert abs(pairs.mean()) <= half
    # Both learn: the comparison is of curves that rise.
    assert (found[:, :, -LAST:].mean(axis=(1, 2)) > found[:, :, :2].mean(axis=(1, 2))).all()
