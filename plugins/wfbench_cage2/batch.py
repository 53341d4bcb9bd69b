"""Many environments stepped together by the compiled kernel, into arrays the caller owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays

from .kernel import BAD_SHAPE, CLOCK_SIZE, STEPPED, load_kernel
from .layout import STATE_SIZE
from .options import check_episode_steps, red_shares
from .workflow import form


class Cage2Batch:
    """`num_envs` environments, each with its own seed, episode and step.

    `state` and `clock` are the environments' whole state; they change with every step.
    """

    def __init__(
        self,
        num_envs: int,
        red: str = "bline",
        red_weights: Mapping[str, float] | str | None = None,
        episode_steps: int = 100,
        memory: bool = False,  # noqa: FBT001, FBT002 - an option of the environment
        actions: str = "all",
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)):
            raise TypeError(f"num_envs is {num_envs!r}; it must be an integer")
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; it must be at least 1")
        self.num_envs = int(num_envs)
        chosen = form(memory, actions)
        self.info: EnvInfo = chosen.info
        self._table = chosen.action_table
        self._shape = (self.num_envs, chosen.obs_size)
        self.episode_steps = check_episode_steps(episode_steps)
        self.state = np.zeros((self.num_envs, STATE_SIZE), dtype=np.int16)
        self.clock = np.zeros((self.num_envs, CLOCK_SIZE), dtype=np.int64)
        self.seeds = np.zeros(self.num_envs, dtype=np.uint64)
        self.returns = np.zeros(self.num_envs, dtype=np.float64)
        self._shares = np.array(red_shares(red, red_weights), dtype=np.float64)
        self._started = False
        self._kernel = load_kernel()

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[np.uint8]) -> None:
        """Start every row's episodes afresh from its seed."""
        given = np.asarray(seeds)
        if given.shape != (self.num_envs,) or given.dtype != np.uint64:
            raise ValueError(
                f"seeds are {given.dtype} {given.shape}; expected uint64 ({self.num_envs},)"
            )
        self.seeds[:] = given
        self._kernel.reset(self.state, self.clock, self.seeds, self._shares, self._rows(obs))
        self._started = True

    def reset_next(self, obs: NDArray[np.uint8]) -> None:
        """Start every row's next episode, whatever step the present one is at."""
        self._require_start()
        self._kernel.reset_next(self.state, self.clock, self.seeds, self._shares, self._rows(obs))

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """One step of every row; an ended row starts its next episode at once.

        Where an episode ended, `returns` has its return.
        """
        self._require_start()
        if getattr(out.obs, "shape", None) != self._shape:
            raise ValueError(self._describe(actions, out))
        try:
            answer = self._kernel.step(
                self.state,
                self.clock,
                self.seeds,
                self._shares,
                self._table,
                self.episode_steps,
                actions,
                out.obs,
                out.rewards,
                out.truncated,
                out.final_obs,
                out.compromised,
                out.ended_session,
                self.returns,
                True,  # noqa: FBT003
            )
        except TypeError as error:
            raise TypeError(self._describe(actions, out)) from error
        if answer == BAD_SHAPE:
            raise ValueError(self._describe(actions, out))
        if answer != STEPPED:
            raise ValueError(
                f"action {actions[answer]} of env {answer} is outside 0..{len(self._table) - 1}; "
                "nothing was stepped"
            )
        out.terminated[:] = False

    def close(self) -> None:
        """Nothing to release; the arrays go with the object."""
        self._started = False

    def _require_start(self) -> None:
        if not self._started:
            raise ResetNeeded("call reset() before step()")

    def _rows(self, obs: NDArray[Any]) -> NDArray[np.uint8]:
        if obs.shape != self._shape:
            raise ValueError(f"observation array has shape {obs.shape}; expected {self._shape}")
        return obs

    def _describe(self, actions: NDArray[Any], out: StepArrays) -> str:
        row = (self.num_envs,)
        rows = self._shape
        given: tuple[tuple[str, Any, str, tuple[int, ...]], ...] = (
            ("actions", actions, "int64", row),
            ("obs", out.obs, "uint8", rows),
            ("rewards", out.rewards, "float32", row),
            ("truncated", out.truncated, "bool", row),
            ("final_obs", out.final_obs, "uint8", rows),
            ("compromised", out.compromised, "uint32", row),
            ("ended_session", out.ended_session, "bool", row),
        )
        for name, array, dtype, shape in given:
            if not isinstance(array, np.ndarray):
                return f"{name} is a {type(array).__name__}; expected a {dtype} array"
            if array.dtype != dtype or array.shape != shape:
                return f"{name} is {array.dtype} {array.shape}; expected {dtype} {shape}"
        return "every array of a step must be C-contiguous, aligned and writable"
