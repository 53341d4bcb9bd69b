"""The official simulator as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from wfbench.contract import PluginError

from .model import FOOTHOLD, HOSTS, NUM_ACTIONS, OBS_SIZE, WORKFLOW
from .options import CyborgOptions
from .randomness import OwnRandomness
from .simulator import Sessions, Simulator, find_package

Obs = NDArray[np.uint8]


class CyborgEnv(gymnasium.Env[Obs, np.int64]):
    """CAGE Challenge 2 in the official simulator: same observation, actions and info as `cage2`.

    `reset(seed=s)` builds a new simulator and starts the stream of episodes of seed s; `reset()`
    starts its next episode. The simulator draws from process-global random state, which this
    environment sets for each call and restores afterwards.
    """

    def __init__(self, red: str = "bline", episode_steps: int = 100) -> None:
        chosen = CyborgOptions(red, episode_steps)
        find_package()
        self.workflow = WORKFLOW
        self.observation_space = gymnasium.spaces.Box(0, 1, (OBS_SIZE,), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
        self._options = chosen
        self._randomness: OwnRandomness | None = None
        self._steps_left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Start an episode: the first one of `seed`, or the next one of the present seed."""
        super().reset(seed=seed, options=options)
        begins = seed is not None or self._randomness is None
        if begins:
            fresh = int(self.np_random.integers(1 << 63)) if seed is None else seed
            self._randomness = OwnRandomness(fresh)
        with self._own().drawn_here():
            if begins:
                self._simulator = Simulator(self._options.red)
            obs = self._simulator.reset()
            self._sessions = self._simulator.red_sessions(HOSTS)
        self._steps_left = self._options.episode_steps
        return _bits(obs), {"compromised_hosts": _mask(self._sessions), "ended_session": False}

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Execute blue's action, then red's; truncate the episode after `episode_steps` steps."""
        if self._steps_left < 1:
            raise ResetNeeded("no episode has been started: call reset() before step()")
        chosen = int(action)
        if not 0 <= chosen < NUM_ACTIONS:
            raise ValueError(f"action {chosen} is outside 0..{NUM_ACTIONS - 1}")
        before = self._sessions
        with self._own().drawn_here():
            obs, reward, over = self._simulator.step(chosen)
            self._sessions = self._simulator.red_sessions(HOSTS)
        self._steps_left -= 1
        truncated = self._steps_left == 0
        terminated = over and not truncated
        if terminated:
            self._steps_left = 0
        info = {
            "compromised_hosts": _mask(before),
            "ended_session": _ended_session(chosen, before, self._sessions),
        }
        return _bits(obs), reward, terminated, truncated, info

    def true_state(self) -> dict[str, Any]:
        """Return the simulator's nested true state."""
        with self._own().drawn_here():
            return self._simulator.true_state()

    def _own(self) -> OwnRandomness:
        if self._randomness is None:
            raise ResetNeeded("call reset() first")
        return self._randomness


def _mask(sessions: Sequence[Sessions]) -> int:
    return sum(1 << host for host, found in enumerate(sessions) if found)


def _ended_session(action: int, before: Sequence[Sessions], after: Sequence[Sessions]) -> bool:
    """Tell whether the action ended a red session on the host that it fixes.

    The session on red's foothold comes back by itself, so it never counts.
    """
    host = WORKFLOW.fix_host[action]
    return host not in (-1, FOOTHOLD) and bool(before[host] - after[host])


def _bits(obs: Any) -> Obs:
    found = np.asarray(obs)
    if found.shape != (OBS_SIZE,) or not np.isin(found, (0, 1)).all():
        raise PluginError(
            f"the simulator's observation is not {OBS_SIZE} features of 0 or 1 (shape "
            f"{found.shape}): this CybORG is not that of CAGE-2"
        )
    return found.astype(np.uint8)
