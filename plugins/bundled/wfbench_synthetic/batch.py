"""Many synthetic environments stepped together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays

from . import dynamics
from .options import SyntheticBatchOptions


class SyntheticBatch:
    """The batched form: the same episodes as `free_env` for the same seeds."""

    def __init__(self, num_envs: int, **options: Any) -> None:
        chosen = SyntheticBatchOptions(**options)
        self.num_envs = num_envs
        self.info = EnvInfo(
            obs_shape=(chosen.obs_size,),
            obs_dtype=np.dtype(chosen.obs_dtype).str,
            num_actions=chosen.num_actions,
            workflow=dynamics.workflow_model(chosen.num_actions),
            batched=True,
        )
        self._observer = dynamics.Observer(chosen.obs_size, chosen.obs_dtype, chosen.distinct)
        self._length = chosen.episode_length
        self._hosts = min(13, chosen.num_actions - 1)
        self._seeds = np.zeros(num_envs, dtype=np.uint64)
        self._episodes = np.zeros(num_envs, dtype=np.uint64)
        self._states = np.zeros(num_envs, dtype=np.uint64)

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[Any]) -> None:
        """Start row i's stream of episodes from seeds[i] and write the first observations."""
        self._seeds = np.array(seeds, dtype=np.uint64)
        self._episodes[:] = 0
        self._steps = 0
        self._states = dynamics.first_state(self._seeds, self._episodes)
        obs[:] = self._observer.many(self._states)

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Apply one action per row; all rows are at the same step of their episodes."""
        chosen = actions.astype(np.uint64)
        mask = dynamics.compromised(self._states, self._hosts)
        fixes = (chosen >= 1) & (chosen <= self._hosts)
        bit = np.where(fixes, chosen - np.uint64(1), np.uint64(0))
        out.compromised[:] = mask
        out.ended_session[:] = fixes & ((mask >> bit) & np.uint64(1) == 1)
        self._states = dynamics.next_state(self._states, chosen)
        out.rewards[:] = dynamics.reward(self._states)
        self._steps += 1
        over = self._steps == self._length
        terminated = dynamics.ends_by_termination(self._episodes) & over
        out.terminated[:] = terminated
        out.truncated[:] = over & ~terminated
        if over:
            out.final_obs[:] = self._observer.many(self._states)
            self._episodes += np.uint64(1)
            self._states = dynamics.first_state(self._seeds, self._episodes)
            self._steps = 0
        out.obs[:] = self._observer.many(self._states)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
