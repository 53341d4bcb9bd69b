"""Many environments, as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from wfbench.contract import StepArrays

from .batch import Cage2Batch, env_seeds
from .kernel import STEP
from .layout import AT
from .lookup import UNIT_MASK

Obs = NDArray[np.uint8]
Rows = NDArray[Any]


class Cage2VectorEnv(VectorEnv[Obs, NDArray[np.int64], Rows]):
    """`num_envs` copies of `Cage2Env`, stepped by one compiled call.

    Autoreset is *same step*: where an episode ends, the returned observation is the first of the
    next episode, and `info` has `final_obs`, `episode_return` and `episode_length` with the masks
    `_final_obs`, `_episode_return` and `_episode_length` of the rows they are valid in. The other
    keys of `info` are those of `Cage2Env`, one entry per env.

    One integer as seed is expanded to `env_seeds`, one independent seed per env; a sequence of
    integers is taken as it is, so that row i equals a `Cage2Env` reset with `seeds[i]`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int,
        *,
        red: str = "bline",
        red_weights: Mapping[str, float] | str | None = None,
        episode_steps: int = 100,
        memory: bool = False,
        actions: str = "all",
        seed: int | Sequence[int] | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.closed = True  # there is nothing to close yet; gymnasium 1.1 would try after an error
        if render_mode not in (None, "ansi"):
            raise ValueError(f"unknown render_mode {render_mode!r}; only 'ansi' is known here")
        self._batch = Cage2Batch(num_envs, red, red_weights, episode_steps, memory, actions)
        self.closed = False
        self.num_envs = self._batch.num_envs
        self.render_mode = render_mode
        self.workflow = self._batch.info.workflow
        self.episode_steps = self._batch.episode_steps
        self.single_observation_space = Box(0, 1, self._batch.info.obs_shape, np.uint8)
        self.single_action_space = Discrete(self._batch.info.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._first = None if seed is None else env_seeds(seed, self.num_envs)
        self._blank = tuple(vars(StepArrays.allocate(self.num_envs, self._batch.info)).values())

    @property
    def seeds(self) -> NDArray[np.uint64]:
        """Return the env seed of every row."""
        return self._batch.seeds.copy()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Obs, dict[str, Any]]:
        """Start every row afresh from `seed`, or its next episode if no seed is given."""
        if options:
            raise ValueError(f"reset() takes no options, but was given {sorted(options)}")
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        obs = np.empty((self.num_envs, *self._batch.info.obs_shape), dtype=np.uint8)
        self._batch.start(seed, self._first, obs)
        compromised = self._batch.state[:, AT.owned].astype(np.uint32)
        return obs, self._info(compromised, np.zeros(self.num_envs, dtype=np.bool_))

    def step(self, actions: Any) -> tuple[Obs, Rows, Rows, Rows, dict[str, Any]]:
        """Step every row; step none if any action is illegal."""
        self._batch.require_start("step")
        chosen = self._legal(actions)
        out = StepArrays(*[array.copy() for array in self._blank])
        self._batch.step(chosen, out)
        info = self._info(out.compromised, out.ended_session)
        ended = out.truncated.copy()
        if ended.any():
            last = {
                "final_obs": out.final_obs,
                "episode_return": np.where(ended, self._batch.returns, 0.0),
                "episode_length": np.where(ended, self.episode_steps, 0),
            }
            info |= _with_masks(last, ended)
        return out.obs, out.rewards, out.terminated, out.truncated, info

    def render(self) -> tuple[str, ...] | None:
        """Return the table of every env, in render mode "ansi"."""
        if self.render_mode is None:
            return None
        self._batch.require_start("render")
        from .render import table_text

        rows = zip(self._batch.state, self._batch.clock[:, STEP], strict=True)
        return tuple(table_text(state, int(step)) for state, step in rows)

    def true_state(self, index: int) -> dict[str, Any]:
        """Return the nested true state of one env, as `Cage2Env.true_state`."""
        return self._batch.true_state(index)

    def close_extras(self, **_: Any) -> None:
        """Release the environments."""
        self._batch.close()

    def _legal(self, actions: Any) -> NDArray[np.int64]:
        given = np.asarray(actions)
        if given.dtype.kind not in "iu":
            raise TypeError(f"actions are {given.dtype}; expected integers")
        if given.shape != (self.num_envs,):
            raise ValueError(f"actions have shape {given.shape}; expected ({self.num_envs},)")
        return np.ascontiguousarray(given, dtype=np.int64)

    def _info(self, compromised: Rows, ended_session: Rows) -> dict[str, Any]:
        found = {
            "compromised_units": UNIT_MASK[compromised],
            "compromised_hosts": compromised,
            "ended_session": ended_session,
            "state": self._batch.state.copy(),
        }
        return _with_masks(found, np.ones(self.num_envs, dtype=np.bool_))


def _with_masks(found: dict[str, Rows], valid: NDArray[np.bool_]) -> dict[str, Rows]:
    """Add gymnasium's masks of the rows in which the values are valid."""
    return found | {f"_{name}": valid for name in found}
