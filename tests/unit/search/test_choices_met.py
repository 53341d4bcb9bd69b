"""The choices that a policy met, against counting them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench.contract import Counters, Rollout, WorkflowModel
from wfbench.search.sweep import choices_met

MODEL = WorkflowModel(
    units=("a", "b", "c"),
    hosts=("a0", "b0", "c0", "c1"),
    host_unit=(0, 1, 2, 2),
    fix_host=(-1, 0, 1, 2, 3),
    footholds=(2,),
)
ENVS, ORDERS = 6, 3
"""Environments of all orders together: two of each."""


def drawn(seed: int, first_step: int, *, steps: int = 11) -> Rollout:
    rng = np.random.default_rng(seed)
    cells = (steps, ENVS)
    obs = np.zeros((*cells, 1), dtype=np.uint8)
    return Rollout(
        obs=obs,
        actions=rng.integers(len(MODEL.fix_host), size=cells),
        rewards=np.zeros(cells, dtype=np.float32),
        terminated=rng.random(cells) < 0.05,
        truncated=rng.random(cells) < 0.1,
        final_obs=obs[0],
        next_obs=obs[0],
        compromised=rng.integers(16, size=cells).astype(np.uint32),
        ended_session=rng.random(cells) < 0.7,
        log_probs=np.zeros(cells, dtype=np.float32),
        values=np.zeros(cells, dtype=np.float32),
        env_id=rng.permutation(ENVS),
        first_step=np.full(ENVS, first_step),
        policy_version=np.zeros(ENVS, dtype=np.int64),
        counters=Counters(0.0, 0.0, 0.0, 0.0, 0.0),
    )


def counted(rollouts: list[Rollout]) -> np.ndarray:
    """Count as plainly as can be: rows in their sequence, until an environment's episode ends."""
    found = np.zeros((ORDERS, 8, 3), dtype=np.int64)
    over: set[int] = set()
    for rollout in rollouts:
        for step in range(len(rollout.actions)):
            for column, env in enumerate(rollout.env_id.tolist()):
                mask = int(rollout.compromised[step, column])
                host = MODEL.fix_host[rollout.actions[step, column]]
                hit = {MODEL.host_unit[h] for h in (0, 1, 3) if mask & (1 << h)}
                graded = host in {0, 1, 3} and rollout.ended_session[step, column]
                if env not in over and graded and len(hit) > 1:
                    order = env // (ENVS // ORDERS)
                    found[order, sum(1 << unit for unit in hit), MODEL.host_unit[host]] += 1
                if rollout.ended[step, column]:
                    over.add(env)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_choices_of_first_episodes_are_counted_by_order_set_and_fix(seed: int) -> None:
    rollouts = [drawn(seed, 0), drawn(seed + 100, 11), drawn(seed + 200, 22)]
    last_step = np.full(ENVS, np.iinfo(np.int64).max)
    found = sum(choices_met(one, MODEL, last_step, ORDERS) for one in rollouts)
    assert np.array_equal(found, counted(rollouts))
