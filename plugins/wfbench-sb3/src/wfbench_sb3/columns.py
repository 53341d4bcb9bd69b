"""The arrays of one rollout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Acts, Counters, Rollout


class Columns:
    """A row per step, a column per environment."""

    def __init__(self, steps: int, obs: NDArray[Any]) -> None:
        cells = (steps, len(obs))
        self.obs = np.empty((*cells, *obs.shape[1:]), obs.dtype)
        self.actions = np.empty(cells, np.int64)
        self.log_probs, self.values, self.rewards = (np.empty(cells, np.float32) for _ in range(3))
        self.terminated, self.truncated = (np.zeros(cells, np.bool_) for _ in range(2))
        self.compromised = np.zeros(cells, np.uint32)
        self.ended_session = np.zeros(cells, np.bool_)
        self.final_obs: list[Any] = []

    def put_acts(self, step: int, obs: NDArray[Any], acts: Acts) -> None:
        """Keep what was seen at a step and what the policy chose."""
        self.obs[step] = obs
        self.actions[step], self.log_probs[step], self.values[step] = acts

    def put_info(self, step: int, row: int, info: dict[str, Any]) -> None:
        """Keep what the environment `row` reported beside its observation and reward."""
        self.compromised[step, row] = info["compromised_hosts"]
        self.ended_session[step, row] = info["ended_session"]
        self.terminated[step, row] = info["terminated"]
        self.truncated[step, row] = info["truncated"]
        if "terminal_observation" in info:
            self.final_obs.append(info["terminal_observation"])

    def rollout(
        self, next_obs: NDArray[Any], first_step: int, version: int, counters: Counters
    ) -> Rollout:
        """The rollout these arrays hold."""
        n_envs = len(next_obs)
        return Rollout(
            obs=self.obs,
            actions=self.actions,
            rewards=self.rewards,
            terminated=self.terminated,
            truncated=self.truncated,
            final_obs=np.array(self.final_obs, self.obs.dtype).reshape(-1, *next_obs.shape[1:]),
            next_obs=next_obs,
            compromised=self.compromised,
            ended_session=self.ended_session,
            log_probs=self.log_probs,
            values=self.values,
            env_id=np.arange(n_envs),
            first_step=np.full(n_envs, first_step),
            policy_version=np.full(n_envs, version),
            counters=counters,
        )
