"""Rollouts to judge: written by hand, drawn at random, or played on CAGE-2 with its true state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wfbench.collecting.seeding import env_seeds
from wfbench.contract import Counters, Rollout, StepArrays, WorkflowModel
from wfbench_cage2.batch import Cage2Batch
from wfbench_cage2.layout import AT

TINY = WorkflowModel(
    units=("a", "b", "c"),
    hosts=("a0", "b0", "c0", "c1"),
    host_unit=(0, 1, 2, 2),
    fix_host=(-1, 0, 1, 2, 3),
    footholds=(2,),
)
"""Action 0 does nothing; action k fixes host k - 1; c0 is the foothold."""


def build_rollout(
    actions: Any,
    compromised: Any,
    ended_session: Any,
    ends: Any,
    *,
    rewards: Any = 0.0,
    env_id: Sequence[int] | None = None,
    first_step: Sequence[int] | int = 0,
    restarts: int = 0,
) -> Rollout:
    """A rollout of these [T, N] cells."""
    actions = np.array(actions, dtype=np.int64)
    steps, width = actions.shape
    cells = (steps, width)
    obs = np.zeros((steps, width, 1), dtype=np.uint8)
    truncated = np.array(np.broadcast_to(ends, cells), dtype=np.bool_)
    return Rollout(
        obs=obs,
        actions=actions,
        rewards=np.array(np.broadcast_to(rewards, cells), dtype=np.float32),
        terminated=np.zeros(cells, dtype=np.bool_),
        truncated=truncated,
        final_obs=np.zeros((int(truncated.sum()), 1), dtype=np.uint8),
        next_obs=obs[0],
        compromised=np.array(np.broadcast_to(compromised, cells), dtype=np.uint32),
        ended_session=np.array(np.broadcast_to(ended_session, cells), dtype=np.bool_),
        log_probs=np.zeros(cells, dtype=np.float32),
        values=np.zeros(cells, dtype=np.float32),
        env_id=np.arange(width) if env_id is None else np.array(env_id),
        first_step=np.array(np.broadcast_to(first_step, width), dtype=np.int64),
        policy_version=np.zeros(width, dtype=np.int64),
        counters=Counters(0.0, 0.0, 0.0, 0.0, 0.0, restarts=restarts),
    )


Chooser = Callable[[int, NDArray[np.uint32], NDArray[np.int64]], NDArray[np.int64]]
"""Actions for (step of the episode, compromised masks, a random number per env)."""


def play_cage2(
    choose: Chooser, *, red: str = "bline", n_envs: int = 64, steps: int = 100, seed: int = 5
) -> Rollout:
    """One episode of every env, played by somebody who sees the true state."""
    batch = Cage2Batch(n_envs, red=red, episode_steps=steps)
    obs = np.empty((n_envs, 52), dtype=np.uint8)
    batch.reset(np.array(env_seeds(seed, n_envs), dtype=np.uint64), obs)
    rng = np.random.default_rng(seed)
    rows: list[tuple[Any, ...]] = []
    for step in range(steps):
        actions = choose(
            step, batch.state[:, AT.owned].astype(np.uint32), rng.integers(2**31, size=n_envs)
        )
        out = StepArrays(
            obs=obs,
            rewards=np.empty(n_envs, dtype=np.float32),
            terminated=np.empty(n_envs, dtype=np.bool_),
            truncated=np.empty(n_envs, dtype=np.bool_),
            final_obs=np.empty_like(obs),
            compromised=np.empty(n_envs, dtype=np.uint32),
            ended_session=np.empty(n_envs, dtype=np.bool_),
        )
        batch.step(actions, out)
        rows.append((actions, out.compromised, out.ended_session, out.truncated, out.rewards))
    stacked = [np.stack(column) for column in zip(*rows, strict=True)]
    return build_rollout(*stacked[:4], rewards=stacked[4])


@pytest.fixture
def tiny() -> WorkflowModel:
    return TINY


@pytest.fixture
def make_rollout() -> Callable[..., Rollout]:
    return build_rollout


@pytest.fixture
def play() -> Callable[..., Rollout]:
    return play_cage2
