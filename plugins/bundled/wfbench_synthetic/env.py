"""The synthetic environment."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from . import dynamics
from .costs import TrueState, slowed, spend
from .faults import fire
from .options import SyntheticBatchOptions, SyntheticOptions, parse_fault


class SyntheticEnv(gymnasium.Env[NDArray[Any], np.int64]):
    """Deterministic dynamics at chosen costs, with faults on request: `SyntheticOptions`."""

    def __init__(self, **options: Any) -> None:
        chosen = SyntheticOptions(**options)
        here = chosen.fault_env in (-1, chosen.env_index)
        fault = parse_fault(chosen.fault) if here else None
        self._fire = partial(fire, fault, seconds=chosen.fault_seconds, once=chosen.fault_once)
        self._costs = slowed(chosen.resolved_costs, chosen.slow_workers)
        self._busy = chosen.busy
        spend(self._costs.construct, busy=self._busy)
        self._fire(0)
        self.workflow = dynamics.workflow_model(chosen.num_actions)
        dtype = np.uint8 if chosen.obs_dtype == "uint8" else np.float32
        self.observation_space = gymnasium.spaces.Box(0, 1, (chosen.obs_size,), dtype)
        self.action_space = gymnasium.spaces.Discrete(chosen.num_actions)
        self._observer = dynamics.Observer(chosen.obs_size, chosen.obs_dtype, chosen.distinct)
        self._buffer = np.empty(chosen.obs_size, dtype) if chosen.reuse_buffer else None
        self._true_state = TrueState(self.workflow.hosts, self._costs.true_state_bytes)
        self._length = chosen.episode_length
        self._seed: int | None = None
        self._state = 0
        self._steps = 0
        self._spoil_reset = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start a seed's stream of episodes, or its next episode."""
        super().reset(seed=seed, options=options)
        spend(self._costs.reset, busy=self._busy)
        if seed is None and self._seed is None:
            seed = int(self.np_random.integers(1 << 63))
        if seed is not None:
            self._seed = seed & ((1 << 64) - 1)
            self._episode = 0
        else:
            self._episode += 1
        self._state = dynamics.first_state(self._seed, self._episode)
        self._steps_of_episode = 0
        obs = self._observation()
        if self._spoil_reset:
            obs, _ = _spoilt("nan-obs", obs, 0.0)
            self._spoil_reset = False
        return obs, {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Make one step; `info` has `compromised_hosts` and `ended_session`."""
        if self._seed is None or self._steps_of_episode >= self._length:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        self._steps += 1
        fault = self._fire(self._steps)
        spend(self._costs.step, busy=self._busy)
        mask = dynamics.compromised(self._state, len(self.workflow.hosts))
        fixed = self.workflow.fix_host[int(action)]
        self._state = dynamics.next_state(self._state, int(action))
        self._steps_of_episode += 1
        over = self._steps_of_episode == self._length
        terminated = over and dynamics.ends_by_termination(self._episode)
        obs, reward = self._observation(), dynamics.reward(self._state)
        if fault is not None:
            obs, reward = _spoilt(fault, obs, reward)
            self._spoil_reset = fault == "nan-reset"
        info = {
            "compromised_hosts": mask,
            "ended_session": fixed >= 0 and bool(mask >> fixed & 1),
        }
        return obs, reward, terminated, over and not terminated, info

    def true_state(self) -> dict[str, Any]:
        """Return the full nested state, of the chosen size and at the chosen cost."""
        spend(self._costs.true_state, busy=self._busy)
        return self._true_state.of(dynamics.compromised(self._state, len(self.workflow.hosts)))

    def close(self) -> None:
        """Close, unless that is where the fault is."""
        self._fire(-1)
        super().close()

    def _observation(self) -> NDArray[Any]:
        obs = self._observer.one(self._state)
        if self._buffer is None:
            return obs
        self._buffer[:] = obs
        return self._buffer


def _spoilt(fault: str, obs: NDArray[Any], reward: float) -> tuple[NDArray[Any], float]:
    if fault in {"nan", "nan-obs", "inf-obs"} and obs.dtype.kind == "f":
        obs[0] = np.inf if fault == "inf-obs" else np.nan
    match fault:
        case "nan" | "inf-reward":
            return obs, np.nan if fault == "nan" else np.inf
        case "bad-shape":
            return np.append(obs, obs[:1]), reward
        case "bad-dtype":
            return obs.astype(np.int64 if obs.dtype.kind == "u" else np.float64), reward
        case _:
            return obs, reward


def free_env(**options: Any) -> SyntheticEnv:
    """Return the environment without costs or faults; takes `SyntheticBatchOptions`' fields."""
    return SyntheticEnv(**vars(SyntheticBatchOptions(**options)))
