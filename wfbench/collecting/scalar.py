"""Ordinary gymnasium environments, stepped one by one into arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, EnvRef, StepArrays, WorkerError

from .checks import has_nan, info_of, refuse_bad_obs, refuse_bad_reward, rows_with_nan
from .faults import cause_of, trace_of


class ScalarEnv:
    """One environment that resets itself when an episode ends.

    With `check`, an observation or a reward that is not what the spaces promise is refused with a
    ValueError or TypeError that says what was wrong. Whether a step's observation has NaN in it is
    left to the caller, who can look at many rows at once.
    """

    def __init__(self, env: Any, info: EnvInfo, *, check: bool) -> None:
        self.env = env
        self._shape = info.obs_shape
        self._dtype = np.dtype(info.obs_dtype)
        self._check = check

    def first(self, seed: int) -> NDArray[Any]:
        """Start the env's stream of episodes; its first observation."""
        obs = self.env.reset(seed=seed)[0]
        if self._check:
            refuse_bad_obs(obs, self._shape, self._dtype, "reset")
            if has_nan(obs):
                raise ValueError("reset returned an observation with NaN in it")
        return np.asarray(obs)

    def step(self, action: int, out: StepArrays, row: int) -> None:
        """Apply an action and write what came of it into `row`."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        if self._check:
            refuse_bad_obs(obs, self._shape, self._dtype, "step")
            refuse_bad_reward(reward)
        out.rewards[row] = reward
        out.terminated[row] = terminated
        out.truncated[row] = truncated
        out.compromised[row] = info.get("compromised_hosts", 0)
        out.ended_session[row] = info.get("ended_session", False)
        if terminated or truncated:
            out.final_obs[row] = obs
            obs = self.env.reset()[0]
            if self._check:
                refuse_bad_obs(obs, self._shape, self._dtype, "reset")
        out.obs[row] = obs


class ScalarSlice:
    """Some environments of a plan, stepped one after the other.

    Whatever one of them raises becomes a `WorkerError` that names it. `progress` is told the index
    of the environment that is about to run, so that a death can be laid at its door.
    """

    def __init__(
        self,
        ref: EnvRef,
        indices: Sequence[int],
        seeds: Sequence[int],
        *,
        worker: int = 0,
        check: bool = True,
        faults: tuple[type[BaseException], ...] = (BaseException,),
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._indices = list(indices)
        self._seeds = [int(seed) for seed in seeds]
        self._worker = worker
        self._check = check
        self._faults = faults
        self._progress = progress
        self._envs: list[ScalarEnv] = []
        self.info: EnvInfo
        for row, index in enumerate(self._indices):
            self._at(row)
            try:
                self._add(ref.make(index))
            except faults as error:
                self.close()
                raise self._fault(row, error, "could not be built: ") from error

    def __len__(self) -> int:
        return len(self._indices)

    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""
        for row, env in enumerate(self._envs):
            self._at(row)
            try:
                obs[row] = env.first(self._seeds[row])
            except self._faults as error:
                raise self._fault(row, error) from error

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """One step of every environment; row i of `out` is of the i-th of them."""
        row = 0
        try:
            for row, action in enumerate(actions.tolist()):
                self._at(row)
                self._envs[row].step(action, out, row)
        except self._faults as error:
            raise self._fault(row, error) from error
        if self._check:
            self._refuse_nan(out, 0)

    def step_one(self, row: int, action: int, out: StepArrays) -> None:
        """One step of the environment `row`, written to the only row of `out`."""
        try:
            self._envs[row].step(action, out, 0)
        except self._faults as error:
            raise self._fault(row, error) from error
        if self._check:
            self._refuse_nan(out, row)

    def true_states(self) -> list[Any]:
        """The full nested state of every environment."""
        states, row = [], 0
        try:
            for row, env in enumerate(self._envs):
                self._at(row)
                states.append(env.env.unwrapped.true_state())
        except self._faults as error:
            raise self._fault(row, error) from error
        return states

    def has_true_state(self) -> bool:
        """Whether `true_states` can be asked."""
        return all(hasattr(env.env.unwrapped, "true_state") for env in self._envs)

    def close(self) -> None:
        """Close every environment; one that cannot close does not stop the others."""
        envs, self._envs = self._envs, []
        for env in envs:
            try:
                env.env.close()
            except self._faults:
                continue

    def _add(self, env: Any) -> None:
        info = info_of(env)
        if self._envs and _shape(info) != _shape(self.info):
            raise ValueError(f"spaces {_shape(info)} differ from {_shape(self.info)} of the others")
        self.info = info
        self._envs.append(ScalarEnv(env, info, check=self._check))

    def _refuse_nan(self, out: StepArrays, first: int) -> None:
        bad = rows_with_nan(out)
        if len(bad):
            error = ValueError("step returned an observation with NaN in it")
            raise self._fault(first + int(bad[0]), error)

    def _at(self, row: int) -> None:
        if self._progress is not None:
            self._progress(self._indices[row])

    def _fault(self, row: int, error: BaseException, prefix: str = "") -> WorkerError:
        return WorkerError(
            prefix + cause_of(error),
            worker=self._worker,
            env=self._indices[row],
            seed=self._seeds[row],
            traceback=trace_of(error),
        )


def _shape(info: EnvInfo) -> tuple[Any, ...]:
    return info.obs_shape, info.obs_dtype, info.num_actions
