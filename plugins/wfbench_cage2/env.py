"""One environment, as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from .kernel import CLOCK_SIZE, EPISODE, STEP, load_kernel
from .layout import OWNED, STATE_SIZE, unpack
from .lookup import unit_mask
from .options import check_episode_steps, red_shares
from .seeds import check_seed, fresh_seed
from .workflow import form

Obs = NDArray[np.uint8]


class Cage2Env(gymnasium.Env[Obs, np.int64]):
    """CAGE Challenge 2 from blue's seat.

    Observation: 52 features of 0 or 1, four per host (two for what was seen in this step, two for
    what blue believes). Action: 0..144. An episode is truncated after `episode_steps` steps.
    `memory=True` appends what blue knows from its own actions and past alerts; `actions="reduced"`
    offers the useful actions and macros that plant the best decoy a host still lacks.

    `reset(seed=s)` starts the stream of episodes of env seed s; `reset()` goes on with the next
    episode of that stream. `info` has

    * `compromised_units`, `compromised_hosts`: bit masks before the action, over the five unit
      types and the thirteen hosts (User0, red's foothold, is always compromised);
    * `ended_session`: whether the action ended a red session;
    * `state`: the true state, an int16 array laid out as `wfbench_cage2.layout.FIELDS`;
    * in the last step `final_obs`, `episode_return` and `episode_length`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi", "human"],
        "render_fps": 4,
        "autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED,
    }

    def __init__(
        self,
        red: str = "bline",
        red_weights: Mapping[str, float] | str | None = None,
        episode_steps: int = 100,
        memory: bool = False,  # noqa: FBT001, FBT002 - an option of the environment
        actions: str = "all",
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"unknown render_mode {render_mode!r}; choose one of "
                f"{', '.join(self.metadata['render_modes'])}"
            )
        chosen = form(memory, actions)
        self.workflow = chosen.workflow
        self._table = chosen.action_table
        self._obs_size = chosen.obs_size
        self.observation_space = gymnasium.spaces.Box(0, 1, (chosen.obs_size,), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(chosen.actions))
        self.episode_steps = check_episode_steps(episode_steps)
        self.render_mode = render_mode
        self._shares = np.array(red_shares(red, red_weights), dtype=np.float64)
        self._first_seed = None if seed is None else check_seed(seed)
        self._kernel = load_kernel()
        self._state = np.zeros((1, STATE_SIZE), dtype=np.int16)
        self._clock = np.zeros((1, CLOCK_SIZE), dtype=np.int64)
        self._seeds = np.zeros(1, dtype=np.uint64)
        self._seeded = False
        self._playing = False
        self._action = np.zeros(1, dtype=np.int64)
        self._reward = np.zeros(1, dtype=np.float32)
        self._truncated = np.zeros(1, dtype=np.bool_)
        self._compromised = np.zeros(1, dtype=np.uint32)
        self._ended = np.zeros(1, dtype=np.bool_)
        self._return = np.zeros(1, dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Start an episode: the first one of `seed`, or the next one of the present seed."""
        if options:
            raise ValueError(f"reset() takes no options, but was given {sorted(options)}")
        super().reset(seed=seed)
        obs = np.empty((1, self._obs_size), dtype=np.uint8)
        chosen = self._choose_seed(seed)
        if chosen is None:
            self._kernel.reset_next(self._state, self._clock, self._seeds, self._shares, obs)
        else:
            self._seeds[0] = chosen
            self._kernel.reset(self._state, self._clock, self._seeds, self._shares, obs)
        self._seeded = self._playing = True
        if self.render_mode == "human":
            self.render()
        return obs[0], self._info(int(self._state[0, OWNED]), ended_session=False)

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Blue's action, then red's; the episode is truncated after `episode_steps` steps."""
        if not self._playing:
            what = "the episode has ended" if self._seeded else "no episode has been started"
            raise ResetNeeded(f"{what}: call reset() before step()")
        self._action[0] = _legal(action, len(self._table))
        obs = np.empty((1, self._obs_size), dtype=np.uint8)
        self._kernel.step(
            self._state,
            self._clock,
            self._seeds,
            self._shares,
            self._table,
            self.episode_steps,
            self._action,
            obs,
            self._reward,
            self._truncated,
            obs,
            self._compromised,
            self._ended,
            self._return,
            False,  # noqa: FBT003
        )
        truncated = bool(self._truncated[0])
        info = self._info(int(self._compromised[0]), ended_session=bool(self._ended[0]))
        if truncated:
            self._playing = False
            info["final_obs"] = obs[0].copy()
            info["episode_return"] = float(self._return[0])
            info["episode_length"] = int(self._clock[0, STEP])
        if self.render_mode == "human":
            self.render()
        return obs[0], float(self._reward[0]), False, truncated, info

    def render(self) -> str | None:
        """The hosts as a table: returned as text in mode "ansi", printed in mode "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render_mode; pass render_mode='ansi' or 'human'"
            )
            return None
        if not self._seeded:
            raise ResetNeeded("call reset() before render()")
        from .render import print_table, table_text

        state, step = self._state[0], int(self._clock[0, STEP])
        if self.render_mode == "ansi":
            return table_text(state, step)
        print_table(state, step)
        return None

    def true_state(self) -> dict[str, Any]:
        """The nested true state: `success`, and one entry per host name."""
        if not self._seeded:
            raise ResetNeeded("call reset() before true_state()")
        from .true_state import build_true_state

        return build_true_state(self._state[0], int(self._seeds[0]), int(self._clock[0, EPISODE]))

    def fields(self) -> dict[str, Any]:
        """The true state by field name."""
        return unpack(self._state[0])

    def _choose_seed(self, seed: int | None) -> int | None:
        if seed is not None:
            return check_seed(seed)
        if self._seeded:
            return None
        return fresh_seed() if self._first_seed is None else self._first_seed

    def _info(self, compromised: int, *, ended_session: bool) -> dict[str, Any]:
        return {
            "compromised_units": unit_mask(compromised),
            "compromised_hosts": compromised,
            "ended_session": ended_session,
            "state": self._state[0].copy(),
        }


def _legal(action: Any, count: int) -> int:
    if isinstance(action, np.ndarray) and action.ndim == 0:
        action = action[()]
    if isinstance(action, (bool, np.bool_)) or not isinstance(action, (int, np.integer)):
        raise TypeError(
            f"action is {action!r} ({type(action).__name__}); "
            f"expected one integer in 0..{count - 1}"
        )
    if not 0 <= action < count:
        raise ValueError(f"action {action} is outside 0..{count - 1}")
    return int(action)


def warm_up() -> None:
    """Load the compiled rules, so that processes forked from this one share them."""
    load_kernel()
