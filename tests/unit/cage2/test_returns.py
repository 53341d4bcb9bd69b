"""Free-running returns against those of the reference simulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wfbench_cage2 import Cage2VectorEnv
from wfbench_cage2.tables import ANALYSE, DECOY, NUM_HOSTS, REMOVE, RESTORE

STATS = json.loads((Path(__file__).parents[2] / "data/cage2/return_stats.json").read_text())
PAIRS = sorted(STATS["pairs"])
EPISODES = 4_000
PRIORITY = np.array([7, 3, 2, 1, 4, 5, 6, 9, 10, 11, 12, 0])
USEFUL = np.r_[133:136, 139, 3:6, 9, 16:19, 22, 11:15, 141:145, 132, 2, 15, 24:28]


def random145(_obs, rng, n):
    return rng.integers(0, 145, n)


def rrar(_obs, rng, n):
    family = rng.integers(0, 4, n)
    base = np.array([REMOVE, RESTORE, ANALYSE, 0])[family]
    return base + np.where(family < 3, rng.integers(0, NUM_HOSTS, n), 0)


def decoy(_obs, rng, n):
    kind = rng.choice(5, n, p=[0.7, 0.1, 0.1, 0.05, 0.05])
    base = np.array([DECOY, RESTORE, REMOVE, ANALYSE, 0])[kind]
    span = np.array([RESTORE - DECOY, NUM_HOSTS, NUM_HOSTS, NUM_HOSTS, 1])[kind]
    return base + np.floor(rng.random(n) * span).astype(np.int64)


def sleep(_obs, _rng, n):
    return np.zeros(n, dtype=np.int64)


def useful27(_obs, rng, n):
    return rng.choice(USEFUL, n)


def reactive(obs, rng, n):
    belief = obs.reshape(n, NUM_HOSTS, 4)[:, PRIORITY, 2:]
    believed = belief.any(axis=2)
    first = believed.argmax(axis=1)
    only_user = (belief[np.arange(n), first] == (0, 1)).all(axis=1)
    fix = np.where(only_user, REMOVE, RESTORE) + PRIORITY[first]
    idle = np.where(rng.random(n) < 0.5, 0, ANALYSE + rng.choice(PRIORITY, n))
    return np.where(believed.any(axis=1), fix, idle)


POLICIES = {
    policy.__name__: policy for policy in (random145, rrar, decoy, sleep, useful27, reactive)
}


@pytest.mark.parametrize("pair", PAIRS)
def test_mean_return_is_that_of_the_reference_at_every_horizon(pair):
    red, policy = pair.split("__")
    rng = np.random.default_rng(20_261_116)
    env = Cage2VectorEnv(EPISODES, red=red, seed=PAIRS.index(pair))
    obs, _ = env.reset()
    total = np.zeros((100, EPISODES))
    for t in range(100):
        obs, total[t], _, _, _ = env.step(POLICIES[policy](obs, rng, EPISODES))
    for horizon, stats in STATS["pairs"][pair].items():
        returns = total[: int(horizon)].sum(axis=0)
        ours = returns.std(ddof=1) / np.sqrt(EPISODES)
        combined = np.hypot(ours, stats["sem"])
        assert abs(returns.mean() - stats["mean"]) <= 4 * combined, (horizon, returns.mean(), stats)
