"""The compiled entry points: reset and step, of one environment and of many.

They write only into arrays the caller owns, release the GIL and touch no global state. They are
compiled for exactly one set of argument types, so a wrong dtype is a TypeError and never a
silent second compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numba import boolean, float32, float64, int8, int16, int64, uint8, uint32, uint64, void
from numpy.typing import NDArray

from .compiling import compile_notice, entry_point, rule, sources_digest
from .draws import NO_TAPE, RED_AGENT, step_key, uniform
from .layout import (
    ALERT,
    ALERT_HOST,
    BLINE_U,
    BLUE_ACTION,
    DETECT,
    ENDED_SESSION,
    ESC_SUS,
    EXPLOIT,
    KHOST,
    KIP,
    KSUB,
    LAST_ALARM,
    MDR_LAST_H,
    MDR_LAST_X,
    OT_ACTIVE,
    OT_PID,
    OWNED,
    PLANTED,
    RED,
    RED_HOST,
    RED_SUBNET,
    RED_SUCCESS,
    ROOT,
    STATE_SIZE,
    TAPE_ERROR,
)
from .red_agents import red_choose
from .rules_blue import (
    MEMORY_SIZE,
    State,
    blue_turn,
    concrete_action,
    note_sessions,
    remember,
    reward_tenths,
    update_belief,
    write_memory,
    write_obs,
)
from .rules_red import Tape, red_execute
from .tables import FOOTHOLD, OBS_SIZE, Red, Subnet, Success

EPISODE, STEP, RETURN = 0, 1, 2
CLOCK_SIZE = 3
"""Per environment: number of the episode, steps made in it, and its return so far in tenths."""

STEPPED = -1
BAD_SHAPE = -2

_UNKNOWN = int(Success.UNKNOWN)
_USER_SUBNET = int(Subnet.USER)
_NUM_REDS = len(Red)
_NONE_YET = (
    BLINE_U,
    MDR_LAST_X,
    MDR_LAST_H,
    BLUE_ACTION,
    PLANTED,
    RED_HOST,
    RED_SUBNET,
    EXPLOIT,
    DETECT,
    ESC_SUS,
    ALERT_HOST,
    LAST_ALARM,
)


@rule
def reset_state(s: State, red: int) -> None:
    """The state at the start of an episode against one red agent."""
    s[:] = 0
    for place in _NONE_YET:
        s[place] = -1
    s[ROOT + FOOTHOLD] = 1
    note_sessions(s, FOOTHOLD)
    s[KIP] = 1 << FOOTHOLD
    s[KHOST] = 1 << FOOTHOLD
    s[KSUB] = 1 << _USER_SUBNET
    s[OT_ACTIVE] = 1
    s[OT_PID] = 1
    s[RED_SUCCESS] = _UNKNOWN
    s[RED] = red


@rule
def step_state(s: State, action: int, key: np.uint64, tape: Tape) -> int:
    """One step in the order of the specification; returns the reward in tenths."""
    s[EXPLOIT] = -1
    s[DETECT] = -1
    s[ESC_SUS] = -1
    s[ALERT_HOST] = -1
    s[ALERT] = 0
    s[TAPE_ERROR] = 0
    blue_turn(s, action)
    red_choose(s, key, tape)
    red_execute(s, key, tape)
    reward = reward_tenths(s)
    update_belief(s)
    remember(s)
    return reward


@rule
def draw_red(seed: np.uint64, episode: int, red_shares: NDArray[np.float64]) -> int:
    """The red agent of an episode, by cumulative shares."""
    draw = uniform(step_key(seed, episode, -1), RED_AGENT)
    red = 0
    while red < _NUM_REDS - 1 and draw >= red_shares[red]:
        red += 1
    return red


@rule
def begin_episode(
    s: State,
    clock: NDArray[np.int64],
    seed: np.uint64,
    red_shares: NDArray[np.float64],
    obs: NDArray[np.uint8],
) -> None:
    """Start the episode that `clock` names."""
    clock[STEP] = 0
    clock[RETURN] = 0
    reset_state(s, draw_red(seed, clock[EPISODE], red_shares))
    observe(s, 0, obs)


@rule
def observe(s: State, step: int, obs: NDArray[np.uint8]) -> None:
    """Write the observation after `step` steps, with memory if there is room for it."""
    write_obs(s, obs[:OBS_SIZE].view(np.uint32))
    if len(obs) > OBS_SIZE:
        write_memory(s, step, obs[OBS_SIZE:])


@rule
def reset_rows(
    state: State,
    clock: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    red_shares: NDArray[np.float64],
    obs: NDArray[np.uint8],
) -> None:
    """Start the episode that each row's clock names."""
    for i in range(len(seeds)):
        begin_episode(state[i], clock[i], seeds[i], red_shares, obs[i])


@rule
def first_illegal(actions: NDArray[np.int64], count: int) -> int:
    """The first row whose action is not below `count`, or `STEPPED`."""
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= count:
            return i
    return STEPPED


@rule
def step_rows(
    state: State,
    clock: NDArray[np.int64],
    seeds: NDArray[np.uint64],
    red_shares: NDArray[np.float64],
    action_table: NDArray[np.int64],
    episode_steps: int,
    actions: NDArray[np.int64],
    obs: NDArray[np.uint8],
    rewards: NDArray[np.float32],
    truncated: NDArray[np.bool_],
    final_obs: NDArray[np.uint8],
    compromised: NDArray[np.uint32],
    ended_session: NDArray[np.bool_],
    returns: NDArray[np.float64],
    autoreset: bool,  # noqa: FBT001
) -> None:
    """Step every row; all arrays fit and all actions are legal."""
    for i in range(len(state)):
        s = state[i]
        compromised[i] = s[OWNED]
        key = step_key(seeds[i], clock[i, EPISODE], clock[i, STEP])
        action = concrete_action(s, action_table[actions[i]])
        reward = step_state(s, action, key, NO_TAPE)
        ended_session[i] = s[ENDED_SESSION] != 0
        rewards[i] = reward / 10.0
        clock[i, STEP] += 1
        clock[i, RETURN] += reward
        truncated[i] = clock[i, STEP] >= episode_steps
        if truncated[i]:
            returns[i] = clock[i, RETURN] / 10.0
            observe(s, clock[i, STEP], final_obs[i])
        if truncated[i] and autoreset:
            clock[i, EPISODE] += 1
            begin_episode(s, clock[i], seeds[i], red_shares, obs[i])
        else:
            observe(s, clock[i, STEP], obs[i])


class Kernel(NamedTuple):
    """The compiled entry points."""

    reset: Callable[..., None]
    """(state, clock, seeds, red_shares, obs): start episode 0 of every row."""
    reset_next: Callable[..., None]
    """(state, clock, seeds, red_shares, obs): start the next episode of every row."""
    step: Callable[..., int]
    """(state, clock, seeds, red_shares, action_table, episode_steps, actions, obs, rewards,
    truncated, final_obs, compromised, ended_session, returns, autoreset): returns `STEPPED`; or
    `BAD_SHAPE`, or the first row whose action is not legal, and then nothing was stepped."""


@cache
def _define(digest: str) -> dict[str, Any]:
    # numba's disk cache looks at one source file only. Captured variables are part of its key, so
    # capturing the digest of all sources (and nothing else) voids it when any of them changes.

    @entry_point
    def reset(state, clock, seeds, red_shares, obs):  # type: ignore[no-untyped-def]
        digest  # noqa: B018
        clock[:, EPISODE] = 0
        reset_rows(state, clock, seeds, red_shares, obs)

    @entry_point
    def reset_next(state, clock, seeds, red_shares, obs):  # type: ignore[no-untyped-def]
        digest  # noqa: B018
        for i in range(len(clock)):
            clock[i, EPISODE] += 1
        reset_rows(state, clock, seeds, red_shares, obs)

    @entry_point
    def step(  # type: ignore[no-untyped-def]
        state,
        clock,
        seeds,
        red_shares,
        action_table,
        episode_steps,
        actions,
        obs,
        rewards,
        truncated,
        final_obs,
        compromised,
        ended_session,
        returns,
        autoreset,
    ):
        digest  # noqa: B018
        n = len(state)
        if not (
            len(actions) == len(clock) == len(seeds) == len(rewards) == len(truncated) == n
            and len(compromised) == len(ended_session) == len(returns) == n
            and obs.shape == final_obs.shape == (n, obs.shape[1])
            and (obs.shape[1] == OBS_SIZE or obs.shape[1] == OBS_SIZE + MEMORY_SIZE)
        ):
            return BAD_SHAPE
        illegal = first_illegal(actions, len(action_table))
        if illegal == STEPPED:
            step_rows(
                state,
                clock,
                seeds,
                red_shares,
                action_table,
                episode_steps,
                actions,
                obs,
                rewards,
                truncated,
                final_obs,
                compromised,
                ended_session,
                returns,
                autoreset,
            )
        return illegal

    @entry_point
    def replay(state, action, tape, obs):  # type: ignore[no-untyped-def]
        digest  # noqa: B018
        reward = step_state(state, action, np.uint64(0), tape)
        observe(state, 0, obs)
        return reward

    return {"reset": reset, "reset_next": reset_next, "step": step, "replay": replay}


_STATES = int16[:, ::1]
_CLOCKS = int64[:, ::1]
_ROWS = uint8[:, ::1]
_RESET = void(_STATES, _CLOCKS, uint64[::1], float64[::1], _ROWS)
_SIGNATURES = {
    "reset": _RESET,
    "reset_next": _RESET,
    "step": int64(
        _STATES,
        _CLOCKS,
        uint64[::1],
        float64[::1],
        int64[::1],
        int64,
        int64[::1],
        _ROWS,
        float32[::1],
        boolean[::1],
        _ROWS,
        uint32[::1],
        boolean[::1],
        float64[::1],
        boolean,
    ),
    "replay": int64(int16[::1], int64, int8[::1], uint8[::1]),
}


_compiling = threading.Lock()


def _compiled(*names: str) -> list[Any]:
    with _compiling, compile_notice():
        functions = [_define(sources_digest())[name] for name in names]
        for name, function in zip(names, functions, strict=True):
            if not function.signatures:
                function.compile(_SIGNATURES[name])
                function.disable_compile()
    return functions


@cache
def load_kernel() -> Kernel:
    """The compiled kernel, from the disk cache if its sources have not changed."""
    return Kernel(*_compiled(*Kernel._fields))


@cache
def load_replay() -> Callable[..., int]:
    """(state, action, tape, obs): one step with recorded outcomes, returns the reward in tenths."""
    [replay] = _compiled("replay")
    return cast("Callable[..., int]", replay)


def start_state(red: Red) -> tuple[State, NDArray[np.uint8]]:
    """A fresh state against one red agent, and the observation that comes with it."""
    state = np.zeros((1, STATE_SIZE), dtype=np.int16)
    clock = np.zeros((1, CLOCK_SIZE), dtype=np.int64)
    obs = np.empty((1, OBS_SIZE), dtype=np.uint8)
    shares = (np.arange(_NUM_REDS) >= red).astype(np.float64)
    load_kernel().reset(state, clock, np.zeros(1, dtype=np.uint64), shares, obs)
    return state[0], obs[0]
