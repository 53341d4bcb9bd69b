"""Many environments stepped together by the compiled kernel, into arrays of the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from wfbench.contract import CompiledStep, EnvInfo, StepArrays

from .kernel import BAD_SHAPE, CLOCK_SIZE, EPISODE, FIRST, NEXT, load_kernel
from .layout import STATE_SIZE
from .options import check_options
from .workflow import form

Seeds = int | Sequence[Any] | NDArray[Any]


class Cage2Batch:
    """`num_envs` environments, each with its own seed, episode and step.

    `state` and `clock` are the environments' whole state; every step changes them.
    """

    def __init__(
        self,
        num_envs: int,
        red: str = "bline",
        red_weights: Mapping[str, float] | str | None = None,
        episode_steps: int = 100,
        memory: bool = False,  # noqa: FBT001, FBT002 - an option of the environment
        actions: str = "all",
        history: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)):
            raise TypeError(f"num_envs is {num_envs!r}; it must be an integer")
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; it must be at least 1")
        self.num_envs = int(num_envs)
        shares = check_options(red, red_weights, episode_steps, actions)
        self.info: EnvInfo
        self.info, self._table = form(memory, actions, history)
        self._shape = (self.num_envs, *self.info.obs_shape)
        self.episode_steps = episode_steps
        self.state = np.zeros((self.num_envs, STATE_SIZE), dtype=np.int16)
        self.clock = np.zeros((self.num_envs, CLOCK_SIZE), dtype=np.int64)
        self.seeds = np.zeros(self.num_envs, dtype=np.uint64)
        self.returns = np.zeros(self.num_envs, dtype=np.float64)
        self.units = np.zeros(self.num_envs, dtype=np.uint8)
        self.started = False
        rows: tuple[Any, ...] = (
            self.state,
            self.clock,
            self.seeds,
            np.array(shares, dtype=np.float64),
        )
        kernel = load_kernel()
        self._reset = partial(kernel.reset, *rows)
        rows = (*rows, self._table, self.episode_steps, self.returns, self.units)
        self.step_rows = partial(kernel.step, *rows)
        """Step every row: `Kernel.step` from its argument `autoreset` on."""
        self.compiled_step = CompiledStep(kernel.step, (*rows, True))

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[np.uint8]) -> None:
        """Start every row's episodes afresh from its seed."""
        given = np.asarray(seeds)
        if given.shape != (self.num_envs,) or given.dtype != np.uint64:
            raise ValueError(
                f"seeds are {given.dtype} {given.shape}; expected uint64 ({self.num_envs},)"
            )
        self.seeds[:] = given
        self._reset(self._rows(obs), FIRST)
        self.started = True

    def start(self, seed: Seeds | None, first: Seeds | None, obs: NDArray[np.uint8]) -> None:
        """Start afresh from `seed`; without one go on, or begin with `first` or fresh seeds."""
        if seed is None and self.started:
            self._reset(self._rows(obs), NEXT)
        else:
            self.reset(env_seeds(first if seed is None else seed, self.num_envs), obs)

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Step every row; an ended row starts its next episode at once.

        `units` has the unit types that were compromised, and where an episode ended, `returns` has
        its return.
        """
        self.require_start("step")
        fits = getattr(out.obs, "shape", None) == self._shape
        try:
            answer = self.advance(actions, out, autoreset=True) if fits else BAD_SHAPE
        except TypeError as error:
            raise TypeError(self._describe(actions, out)) from error
        if answer == BAD_SHAPE:
            raise ValueError(self._describe(actions, out))
        if answer >= 0:
            raise self.illegal(actions, answer)
        out.terminated[:] = False

    def advance(self, actions: NDArray[np.int64], out: StepArrays, *, autoreset: bool) -> int:
        """Step every row and return the kernel's answer; the caller has checked the arguments."""
        return self.step_rows(
            autoreset,
            actions,
            out.obs,
            out.rewards,
            out.truncated,
            out.final_obs,
            out.compromised,
            out.ended_session,
        )

    def illegal(self, actions: NDArray[np.int64], row: int) -> ValueError:
        """Return the error for an action that does not exist."""
        return ValueError(
            f"action {actions[row]} of env {row} is outside 0..{len(self._table) - 1}; "
            "nothing was stepped"
        )

    def true_state(self, index: int) -> dict[str, Any]:
        """Return the nested true state of one row: `success`, and one entry per host name."""
        self.require_start("true_state")
        from .true_state import build_true_state

        episode = int(self.clock[index, EPISODE])
        return build_true_state(self.state[index], int(self.seeds[index]), episode)

    def require_start(self, method: str) -> None:
        """Raise ResetNeeded before the first reset."""
        if not self.started:
            raise ResetNeeded(f"no episode has been started: call reset() before {method}()")

    def close(self) -> None:
        """Refuse further steps until the next reset."""
        self.started = False

    def _rows(self, obs: NDArray[Any]) -> NDArray[np.uint8]:
        if obs.shape != self._shape:
            raise ValueError(f"observation array has shape {obs.shape}; expected {self._shape}")
        return obs

    def _describe(self, actions: NDArray[Any], out: StepArrays) -> str:
        """Say which array of a step is wrong."""
        fitting = vars(StepArrays.allocate(self.num_envs, self.info))
        wanted = {"actions": np.empty(self.num_envs, np.int64), **fitting}
        for name, array in {"actions": actions, **vars(out)}.items():
            dtype, shape = wanted[name].dtype, wanted[name].shape
            if not isinstance(array, np.ndarray):
                return f"{name} is a {type(array).__name__}; expected a {dtype} array"
            if array.dtype != dtype or array.shape != shape:
                return f"{name} is {array.dtype} {array.shape}; expected {dtype} {shape}"
        return "every array of a step must be C-contiguous, aligned and writable"


def _check_seed(seed: Any) -> int:
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed is {seed!r}; it must be an integer in 0..2**64-1")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed {seed} is outside 0..2**64-1")
    return int(seed)


def env_seeds(seed: Seeds | None, num_envs: int) -> NDArray[np.uint64]:
    """Return one seed per env: those given, or derived from one, or fresh ones.

    Derived seeds do not depend on `num_envs`: env i of 10 has the seed of env i of 1,000.
    """
    if seed is None or isinstance(seed, int) or np.ndim(seed) == 0:
        source = np.random.SeedSequence(None if seed is None else _check_seed(seed))
        return np.asarray(source.generate_state(num_envs, np.uint64), dtype=np.uint64)
    if len(seed) != num_envs:
        raise ValueError(f"{len(seed)} seeds were given for {num_envs} envs")
    return np.array([_check_seed(one) for one in seed], dtype=np.uint64)
