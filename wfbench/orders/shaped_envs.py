"""Environments in a form of `wfbench.orders.forms`, one by one or batched."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from wfbench.contract import BatchEnv, EnvInfo, PluginError, StepArrays, WorkflowModel
from wfbench.contract.forms import FormOptions
from wfbench.orders.forms import EpisodeDraws, append_bits


class ShapedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment that shows the order of each episode and may hold blue at its start."""

    def __init__(self, env: gymnasium.Env[Any, Any], **form: Any) -> None:
        super().__init__(env)
        self._model = _model(getattr(env.unwrapped, "workflow", None))
        self._draws = EpisodeDraws(self._model, FormOptions(**form))
        space = env.observation_space
        if not isinstance(space, gymnasium.spaces.Box):
            raise TypeError(f"a Box space is needed where the environment has {space}")
        extra = self._draws.code.size if self._draws.code else 0
        self.observation_space = gymnasium.spaces.Box(
            np.append(space.low.reshape(-1), np.zeros(extra)).astype(space.dtype),
            np.append(space.high.reshape(-1), np.ones(extra)).astype(space.dtype),
            dtype=space.dtype.type,
        )
        self._seed: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start the first episode of `seed`, or the next one of the present seed."""
        if seed is None and self._seed is None:
            seed = np.random.SeedSequence().generate_state(1, np.uint64).item()
        if seed is not None:
            self._seed, self._episode = seed, -1
        self._episode += 1
        self._step = 0
        key = np.array([self._seed], dtype=np.uint64), np.array([self._episode], dtype=np.uint64)
        self._bits, self._held = self._draws.bits(*key), int(self._draws.held(*key)[0])
        obs, info = self.env.reset(seed=seed, options=options)
        return self._shown(obs), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step; while blue is held, its idle action replaces the given one."""
        if self._step < self._held:
            action = self._model.idle
        self._step += 1
        obs, reward, terminated, truncated, info = self.env.step(action)
        return self._shown(obs), reward, terminated, truncated, info

    def _shown(self, obs: Any) -> NDArray[Any]:
        row = np.asarray(obs)
        shown = np.empty(row.size + self._bits.shape[1], dtype=row.dtype)
        append_bits(row[None], self._bits, shown[None])
        return shown


class ShapedBatch:
    """Many environments that show the order of each episode and may hold blue at its start."""

    def __init__(self, inner: BatchEnv, **form: Any) -> None:
        self._inner = inner
        self._model = _model(inner.info.workflow)
        self._draws = EpisodeDraws(self._model, FormOptions(**form))
        found = inner.info
        extra = self._draws.code.size if self._draws.code else 0
        self.num_envs = inner.num_envs
        self.info: EnvInfo = replace(found, obs_shape=(math.prod(found.obs_shape) + extra,))
        own = StepArrays.allocate(inner.num_envs, found)
        self._obs, self._final = own.obs, own.final_obs
        self._steps = np.zeros(inner.num_envs, dtype=np.int64)

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[Any]) -> None:
        """Start row i's stream of episodes from seeds[i] and write the first observations."""
        self._inner.reset(seeds, self._obs)
        self._seeds = np.array(seeds, dtype=np.uint64)
        self._episodes = np.zeros(len(seeds), dtype=np.uint64)
        self._bits = self._order_bits(np.arange(len(seeds)))
        self._held = self._draws.held(self._seeds, self._episodes)
        self._steps[:] = 0
        append_bits(self._obs, self._bits, obs)

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Apply one action per row; the idle one in rows in which blue is held."""
        if self._model.idle is not None and self._held.any():
            actions = np.where(self._steps < self._held, self._model.idle, actions)
            self._steps += 1
        self._inner.step(actions, replace(out, obs=self._obs, final_obs=self._final))
        ended = out.ended
        if ended.any():
            self._start_next(np.flatnonzero(ended), out)
        append_bits(self._obs, self._bits, out.obs)

    def close(self) -> None:
        """Close the environments."""
        self._inner.close()

    def _start_next(self, rows: NDArray[np.intp], out: StepArrays) -> None:
        size = out.final_obs.shape[1] - self._bits.shape[1]
        out.final_obs[rows, :size] = self._final[rows].reshape(len(rows), size)
        out.final_obs[rows, size:] = self._bits[rows]
        self._episodes[rows] += np.uint64(1)
        self._bits = self._bits.copy()
        self._bits[rows] = self._order_bits(rows)
        self._held[rows] = self._draws.held(self._seeds[rows], self._episodes[rows])
        self._steps[rows] = 0

    def _order_bits(self, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return the code of the order of the present episode of some rows."""
        return self._draws.bits(self._seeds[rows], self._episodes[rows])


class SweptBatch(ShapedBatch):
    """Shows the orders of its form to equal runs of rows, one order each, in every episode."""

    def _order_bits(self, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        return self._draws.bits_of(rows * self._draws.count // self.num_envs)


def _model(found: WorkflowModel | None) -> WorkflowModel:
    if found is None:
        raise PluginError("the environment has no workflow model, so it cannot show an order")
    return found
