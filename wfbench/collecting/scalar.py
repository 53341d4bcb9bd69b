"""Environments of a plan, stepped into arrays: what all forms share, and one by one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import CompiledStep, EnvInfo, EnvRef, StepArrays, WorkerError
from wfbench.contract.record import INFO_FIELDS

from .checks import first_flaw, flaw_of, info_of, refuse_bad_obs, refuse_bad_reward, spaces_of
from .deadlines import refuse_late
from .faults import cause_of, trace_of


class EnvSlice(ABC):
    """Some environments of a plan.

    Whatever goes wrong is raised as a `WorkerError`, if it is one of `faults`. `progress` is called
    with the index of the environment that is about to run, where there is a single one, so that a
    death can be attributed to it.
    """

    info: EnvInfo
    compiled_step: CompiledStep | None = None
    """The step for a `SteppingPolicy`; None where each step must come back here."""

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
        self.reseed(seeds)
        self._worker = worker
        self._check = check
        self._faults = faults
        self._progress = progress
        self._build(ref)

    def __len__(self) -> int:
        return len(self._indices)

    def reseed(self, seeds: Sequence[int]) -> None:
        """Take other seeds; they count from the next `reset` on."""
        self._seeds = [int(seed) for seed in seeds]

    def first_obs(self) -> NDArray[Any]:
        """Reset every environment; return the first observations in a new array."""
        obs = np.empty((len(self), *self.info.obs_shape), np.dtype(self.info.obs_dtype))
        self.reset(obs)
        return obs

    @abstractmethod
    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""

    @abstractmethod
    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Step every environment; row i of `out` is of the i-th of them."""

    def has_true_state(self) -> bool:
        """Return whether `true_states` can be asked; a batch has no nested state."""
        return False

    def true_states(self) -> list[Any]:
        """Return the full nested state of every environment."""
        raise self._fault(TypeError("a batched environment has no true state"))

    @abstractmethod
    def close(self) -> None:
        """Close every environment."""

    @abstractmethod
    def _build(self, ref: EnvRef) -> None: ...

    def _refuse_flaws(self, out: StepArrays) -> None:
        found = first_flaw(out, unbounded=self.info.unbounded)
        if found is not None:
            row, flaw = found
            error = ValueError(f"step returned an observation with {flaw} in it")
            raise self._fault(error, row=row)

    def _fault(
        self, error: BaseException, prefix: str = "", *, row: int | None = None
    ) -> WorkerError:
        """Return the error to raise; `row` is the environment to attribute it to, if one is."""
        if row is None:
            prefix = f"envs {self._indices[0]} to {self._indices[-1]}: {prefix}"
        return WorkerError(
            prefix + cause_of(error),
            worker=self._worker,
            env=None if row is None else self._indices[row],
            seed=None if row is None else self._seeds[row],
            traceback=trace_of(error),
        )


class ScalarEnv:
    """One environment that resets itself when an episode ends.

    With `check`, an observation or a reward that breaks what the spaces promise raises a ValueError
    or TypeError. NaN and infinities in a step's observation are left to the caller, who can look
    at many rows at once.
    """

    def __init__(self, env: Any, info: EnvInfo, *, check: bool) -> None:
        self.env = env
        self._shape = info.obs_shape
        self._dtype = np.dtype(info.obs_dtype)
        self._unbounded = info.unbounded
        self._check = check

    def first(self, seed: int) -> NDArray[Any]:
        """Start the env's stream of episodes; return its first observation."""
        obs = self.env.reset(seed=seed)[0]
        if self._check:
            refuse_bad_obs(obs, self._shape, self._dtype, "reset")
            flaw = flaw_of(obs, unbounded=self._unbounded)
            if flaw is not None:
                raise ValueError(f"reset returned an observation with {flaw} in it")
        return np.asarray(obs)

    def step(self, action: int, out: StepArrays, row: int) -> None:
        """Apply an action and write the result into `row`."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        if self._check:
            refuse_bad_obs(obs, self._shape, self._dtype, "step")
            refuse_bad_reward(reward)
        out.rewards[row] = reward
        out.terminated[row] = terminated
        out.truncated[row] = truncated
        for name, key in INFO_FIELDS.items():
            getattr(out, name)[row] = info.get(key, 0)
        if terminated or truncated:
            out.final_obs[row] = obs
            obs = self.env.reset()[0]
            if self._check:
                refuse_bad_obs(obs, self._shape, self._dtype, "reset")
        out.obs[row] = obs


class ScalarSlice(EnvSlice):
    """Some environments of a plan, stepped one after the other. A fault names its environment."""

    _envs: list[ScalarEnv]

    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""
        row = 0
        try:
            for row, env in enumerate(self._envs):
                self._at(row)
                obs[row] = env.first(self._seeds[row])
        except self._faults as error:
            raise self._fault(error, row=row) from error

    def step(self, actions: NDArray[np.int64], out: StepArrays, limit: float = math.inf) -> None:
        """Step every environment; row i of `out` is of the i-th of them.

        One that took longer than `limit` seconds raises a DeadlineError when it comes back.
        """
        row, took = 0, 0.0
        try:
            for row, action in enumerate(actions.tolist()):
                self._at(row)
                started = perf_counter()
                self._envs[row].step(action, out, row)
                took = perf_counter() - started
                if took > limit:
                    break
        except self._faults as error:
            raise self._fault(error, row=row) from error
        refuse_late(took, limit, f"a step of env {self._indices[row]}")
        if self._check:
            self._refuse_flaws(out)

    def true_states(self) -> list[Any]:
        """Return the full nested state of every environment."""
        states, row = [], 0
        try:
            for row, env in enumerate(self._envs):
                self._at(row)
                states.append(env.env.unwrapped.true_state())
        except self._faults as error:
            raise self._fault(error, row=row) from error
        return states

    def has_true_state(self) -> bool:
        """Return whether `true_states` can be asked."""
        return all(hasattr(env.env.unwrapped, "true_state") for env in self._envs)

    def close(self) -> None:
        """Close every environment; one that cannot close does not stop the others."""
        envs, self._envs = self._envs, []
        for row, env in enumerate(envs):
            self._at(row)
            with suppress(*self._faults):
                env.env.close()

    def _build(self, ref: EnvRef) -> None:
        self._envs = []
        for row, index in enumerate(self._indices):
            self._at(row)
            try:
                self._add(ref.make(index))
            except self._faults as error:
                self.close()
                raise self._fault(error, "could not be built: ", row=row) from error

    def _add(self, env: Any) -> None:
        info = info_of(env)
        if self._envs and spaces_of(info) != spaces_of(self.info):
            raise ValueError(
                f"spaces {spaces_of(info)} differ from {spaces_of(self.info)} of the others"
            )
        self.info = info
        self._envs.append(ScalarEnv(env, info, check=self._check))

    def _at(self, row: int) -> None:
        if self._progress is not None:
            self._progress(self._indices[row])
