"""The official simulator as a `gymnasium.Env`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from wfbench.contract import PluginError
from wfbench.policies import Notes

from .model import FOOTHOLD, HOSTS, OBS_SIZE, workflow
from .options import CyborgOptions
from .randomness import OwnRandomness
from .simulator import Sessions, Simulator, find_package

Obs = NDArray[np.uint8]


class CyborgEnv(gymnasium.Env[Obs, np.int64]):
    """CAGE Challenge 2 in the official simulator: same observation, actions and info as `cage2`.

    `reset(seed=s)` builds a new simulator and starts the stream of episodes of seed s; `reset()`
    starts its next episode. The simulator draws from process-global random state, which this
    environment sets for each call and restores afterwards.

    `memory`, `history` and `actions` are blue's notes and macros, kept from observations and own
    actions. The true state, which costs half as much as a step, is asked for only if `masks` are to
    be reported and a session may have changed.
    """

    def __init__(
        self,
        red: str = "bline",
        episode_steps: int = 100,
        memory: bool = False,  # noqa: FBT001, FBT002 - an option of the environment
        actions: str = "all",
        masks: bool = True,  # noqa: FBT001, FBT002 - as above
        history: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> None:
        self._options = CyborgOptions(red, episode_steps, memory, actions, history, masks)
        find_package()
        self.workflow = workflow(memory, actions, history)
        noted = self.workflow.notes
        self._notes = None if noted is None else Notes(noted)
        size = OBS_SIZE + (0 if noted is None else noted.size)
        self.observation_space = gymnasium.spaces.Box(0, 1, (size,), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(self.workflow.fix_host))
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
            obs = _bits(self._simulator.reset())
            self._sessions = self._red_sessions()
        self._steps_left = self._options.episode_steps
        seen = obs if self._notes is None else self._notes.begin(obs)
        return seen, self._info(self._sessions, ended_session=False)

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Execute blue's action, then red's; truncate the episode after `episode_steps` steps."""
        if self._steps_left < 1:
            raise ResetNeeded("no episode has been started: call reset() before step()")
        chosen, count = int(action), len(self.workflow.fix_host)
        if not 0 <= chosen < count:
            raise ValueError(f"action {chosen} is outside 0..{count - 1}")
        before = self._sessions
        plain = chosen if self._notes is None else self._notes.act(chosen)
        with self._own().drawn_here():
            shown, reward, over = self._simulator.step(plain)
            if self.workflow.fix_host[chosen] >= 0 or not self._simulator.red_was_quiet():
                self._sessions = self._red_sessions()
        obs = _bits(shown)
        self._steps_left -= 1
        truncated = self._steps_left == 0
        terminated = over and not truncated
        if terminated:
            self._steps_left = 0
        ended = _ended_session(self.workflow.fix_host[chosen], before, self._sessions)
        seen = obs if self._notes is None else self._notes.observe(obs)
        return seen, reward, terminated, truncated, self._info(before, ended_session=ended)

    def true_state(self) -> dict[str, Any]:
        """Return the simulator's nested true state."""
        with self._own().drawn_here():
            return self._simulator.true_state()

    def _red_sessions(self) -> tuple[Sessions, ...]:
        return self._simulator.red_sessions(HOSTS) if self._options.masks else ()

    def _info(self, sessions: Sequence[Sessions], *, ended_session: bool) -> dict[str, Any]:
        if not self._options.masks:
            return {}
        return {"compromised_hosts": _mask(sessions), "ended_session": ended_session}

    def _own(self) -> OwnRandomness:
        if self._randomness is None:
            raise ResetNeeded("call reset() first")
        return self._randomness


def _mask(sessions: Sequence[Sessions]) -> int:
    return sum(1 << host for host, found in enumerate(sessions) if found)


def _ended_session(host: int, before: Sequence[Sessions], after: Sequence[Sessions]) -> bool:
    """Tell whether a fix of the host, if any, ended a red session there.

    The session on red's foothold comes back by itself, so it never counts.
    """
    return bool(before) and host not in (-1, FOOTHOLD) and bool(before[host] - after[host])


def _bits(obs: Any) -> Obs:
    found = np.asarray(obs)
    if found.shape != (OBS_SIZE,) or not np.isin(found, (0, 1)).all():
        raise PluginError(
            f"the simulator's observation is not {OBS_SIZE} features of 0 or 1 (shape "
            f"{found.shape}): this CybORG is not that of CAGE-2"
        )
    return found.astype(np.uint8)
