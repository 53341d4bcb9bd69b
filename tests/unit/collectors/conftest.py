"""Plans of the synthetic environment, in scalar and batched form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wfbench.contract import EnvRef, Plan


@pytest.fixture(autouse=True)
def every_test_may_fork(forkable: None) -> None:
    """These tests use every start method."""


@pytest.fixture
def plan_of() -> Callable[..., Plan]:
    def make(*, n_envs: int = 5, batched: bool = False, check: bool = True, **options: Any) -> Plan:
        chosen = {"num_actions": 4, "obs_dtype": "float32", "episode_length": 7, **options}
        if batched:
            env = EnvRef(
                "synthetic-batch",
                "wfbench_synthetic.env:free_env",
                batched="wfbench_synthetic.batch:SyntheticBatch",
                options=chosen,
            )
        else:
            env = EnvRef("synthetic", "wfbench_synthetic.env:SyntheticEnv", options=chosen)
        seeds = np.random.SeedSequence(11).generate_state(n_envs, np.uint64)
        return Plan(env, n_envs, tuple(int(seed) for seed in seeds), check=check)

    return make
