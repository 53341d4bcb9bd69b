"""Many environments, as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .batch import Cage2Batch, env_seeds
from .kernel import BAD_SHAPE, ENDED, STEP, STEPPED
from .layout import AT
from .lookup import UNIT_MASK

Obs = NDArray[np.uint8]
Rows = NDArray[Any]

# An array is made in less than half the time if neither its type nor its maker is looked up.
_empty, _zeros = np.empty, np.zeros
_BYTE, _BOOL = np.dtype(np.uint8), np.dtype(np.bool_)
_FLOAT, _MASK = np.dtype(np.float32), np.dtype(np.uint32)


class Cage2VectorEnv(VectorEnv[Obs, NDArray[np.int64], Rows]):
    """`num_envs` copies of `Cage2Env`, stepped by one compiled call.

    Autoreset is *same step*: where an episode ends, the returned observation is the first of the
    next episode, and `info` has `final_obs`, `episode_return` and `episode_length` with the masks
    `_final_obs`, `_episode_return` and `_episode_length` of the rows they are valid in. The other
    keys of `info` are those of `Cage2Env`, one entry per env.

    Whatever `step` and `reset` return belongs to the caller, except for two read-only arrays:
    `info["state"]` is a view that the next step changes (copy it to keep it), and the masks of
    what is valid in every row are one array that never changes.

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
        history: bool = False,
        seed: int | Sequence[int] | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.closed = True  # there is nothing to close yet; gymnasium 1.1 would try after an error
        if render_mode not in (None, "ansi"):
            raise ValueError(f"unknown render_mode {render_mode!r}; only 'ansi' is known here")
        self._batch = Cage2Batch(
            num_envs, red, red_weights, episode_steps, memory, actions, history
        )
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
        self._shape = (self.num_envs, *self._batch.info.obs_shape)
        self._final_obs = np.zeros(self._shape, dtype=np.uint8)
        every = _read_only(np.ones(self.num_envs, dtype=np.bool_))
        self._info: dict[str, Any] = {
            "compromised_units": None,
            "_compromised_units": every,
            "compromised_hosts": None,
            "_compromised_hosts": every,
            "ended_session": None,
            "_ended_session": every,
            "state": _read_only(self._batch.state),
            "_state": every,
        }
        """What `info` has in every step; the missing values are set in a copy."""

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
        obs = np.empty(self._shape, np.uint8)
        self._batch.start(seed, self._first, obs)
        compromised = self._batch.state[:, AT.owned].astype(np.uint32)
        info = self._info.copy()
        info["compromised_units"] = UNIT_MASK[compromised]
        info["compromised_hosts"] = compromised
        info["ended_session"] = np.zeros(self.num_envs, np.bool_)
        return obs, info

    def step(self, actions: Any) -> tuple[Obs, Rows, Rows, Rows, dict[str, Any]]:
        """Step every row; step none if any action is illegal."""
        batch, num_envs = self._batch, self.num_envs
        if not batch.started:
            batch.require_start("step")
        obs, rewards = _empty(self._shape, _BYTE), _empty(num_envs, _FLOAT)
        truncated, ended_session = _empty(num_envs, _BOOL), _empty(num_envs, _BOOL)
        compromised = _empty(num_envs, _MASK)
        out = (obs, rewards, truncated, self._final_obs, compromised, ended_session)
        try:
            answer = batch.step_rows(True, actions, *out)  # noqa: FBT003 (as the kernel takes it)
        except TypeError:
            answer = BAD_SHAPE
        if answer >= BAD_SHAPE and answer != STEPPED:
            actions = self._legal(actions)
            answer = batch.step_rows(True, actions, *out)  # noqa: FBT003 (see above)
            if answer >= 0:
                raise batch.illegal(actions, answer)
        info = self._info.copy()
        info["compromised_units"] = batch.units.copy()
        info["compromised_hosts"] = compromised
        info["ended_session"] = ended_session
        if answer == ENDED:
            info |= self._last(truncated.copy())
        return obs, rewards, _zeros(num_envs, _BOOL), truncated, info

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

    def _last(self, ended: NDArray[np.bool_]) -> dict[str, Rows]:
        """Return what `info` says of episodes that ended, with gymnasium's masks."""
        return {
            "final_obs": self._final_obs * ended[:, None],
            "_final_obs": ended,
            "episode_return": np.where(ended, self._batch.returns, 0.0),
            "_episode_return": ended,
            "episode_length": ended * self.episode_steps,
            "_episode_length": ended,
        }


def _read_only(array: Rows) -> Rows:
    view = array.view()
    view.flags.writeable = False
    return view
