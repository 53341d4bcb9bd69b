"""One environment, as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from wfbench.contract import StepArrays

from .batch import Cage2Batch, env_seeds
from .kernel import STEP, load_kernel
from .layout import AT, unpack
from .lookup import UNIT_MASK

Obs = NDArray[np.uint8]


class Cage2Env(gymnasium.Env[Obs, np.int64]):
    """CAGE Challenge 2 from blue's seat.

    Observation: 52 features of 0 or 1, four per host (two for what blue saw in this step, two for
    what it believes). Action: 0..144. An episode is truncated after `episode_steps` steps.
    `memory=True` appends what blue knows from its own actions and past alerts, `history=True` more
    of it; `actions="reduced"` offers the useful actions and macros that plant the best decoy a host
    still lacks.

    `reset(seed=s)` starts the stream of episodes of env seed s; `reset()` starts the next episode
    of that stream. `info` has

    * `compromised_units`, `compromised_hosts`: bit masks before the action, over the five unit
      types and the thirteen hosts (User0, red's foothold, is always compromised);
    * `ended_session`: whether the action ended a red session;
    * `state`: the true state, an int16 array laid out as `wfbench_cage2.layout.StateLayout`;
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
        history: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"unknown render_mode {render_mode!r}; choose one of "
                f"{', '.join(self.metadata['render_modes'])}"
            )
        self._batch = Cage2Batch(1, red, red_weights, episode_steps, memory, actions, history)
        info = self._batch.info
        self.workflow = info.workflow
        self.observation_space = gymnasium.spaces.Box(0, 1, info.obs_shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(info.num_actions)
        self.episode_steps = self._batch.episode_steps
        self._num_actions = info.num_actions
        self.render_mode = render_mode
        self._first = None if seed is None else env_seeds([seed], 1)
        self._playing = False
        self._action = np.zeros(1, dtype=np.int64)
        self._out = StepArrays.allocate(1, info)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Start an episode: the first one of `seed`, or the next one of the present seed."""
        if options:
            raise ValueError(f"reset() takes no options, but was given {sorted(options)}")
        super().reset(seed=seed)
        self._batch.start(None if seed is None else [seed], self._first, self._out.obs)
        self._playing = True
        if self.render_mode == "human":
            self.render()
        owned = int(self._batch.state[0, AT.owned])
        return self._out.obs[0].copy(), self._info(owned, ended_session=False)

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Execute blue's action, then red's; truncate the episode after `episode_steps` steps."""
        if not self._playing:
            self._batch.require_start("step")
            raise ResetNeeded("the episode has ended: call reset() before step()")
        self._action[0] = _legal(action, self._num_actions)
        out = self._out
        self._batch.advance(self._action, out, autoreset=False)
        obs, truncated = out.obs[0].copy(), bool(out.truncated[0])
        info = self._info(int(out.compromised[0]), ended_session=bool(out.ended_session[0]))
        if truncated:
            self._playing = False
            info["final_obs"] = obs.copy()
            info["episode_return"] = float(self._batch.returns[0])
            info["episode_length"] = int(self._batch.clock[0, STEP])
        if self.render_mode == "human":
            self.render()
        return obs, float(out.rewards[0]), False, truncated, info

    def render(self) -> str | None:
        """Return the hosts as a table in mode "ansi"; print it in mode "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render_mode; pass render_mode='ansi' or 'human'"
            )
            return None
        self._batch.require_start("render")
        from .render import print_table, table_text

        show = table_text if self.render_mode == "ansi" else print_table
        return show(self._batch.state[0], int(self._batch.clock[0, STEP]))

    def true_state(self) -> dict[str, Any]:
        """Return the nested true state: `success`, and one entry per host name."""
        return self._batch.true_state(0)

    def fields(self) -> dict[str, Any]:
        """Return the true state by field name."""
        return unpack(self._batch.state[0])

    def _info(self, compromised: int, *, ended_session: bool) -> dict[str, Any]:
        return {
            "compromised_units": int(UNIT_MASK[compromised]),
            "compromised_hosts": compromised,
            "ended_session": ended_session,
            "state": self._batch.state[0].copy(),
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
