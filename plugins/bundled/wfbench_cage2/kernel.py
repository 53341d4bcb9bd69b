"""The compiled entry points: reset and step many environments, replay one step.

They write only into arrays of their caller, release the GIL and touch no global state. They are
compiled for one set of argument types, so a wrong dtype is a TypeError, never a second compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from wfbench.policies.compiling import compiled

from . import rules_blue as blue
from .compiling import compile_notice, part
from .draws import NO_TAPE, RED_AGENT, Tape, step_key, uniform
from .layout import AT, STATE_SIZE, State
from .lookup import UNIT_MASK
from .red_agents import aim, red_choose
from .rules_red import red_execute
from .tables import FOOTHOLD, OBS_SIZE, Red, RedAction, Subnet, Success

CLOCK_SIZE = 3
EPISODE, STEP, RETURN = range(CLOCK_SIZE)
"""Per environment: number of the episode, steps made in it, and its return so far in tenths."""

FIRST, NEXT = False, True
STEPPED = -1
BAD_SHAPE = -2
ENDED = -3

_UNKNOWN = int(Success.UNKNOWN)
_SLEEP = int(RedAction.SLEEP)
_USER_SUBNET = int(Subnet.USER)
_NONE_YET = (
    *(AT.bline_u, AT.mdr_last_x, AT.mdr_last_h, AT.blue_action),
    *(AT.last_alarm, AT.earlier_alarm),
)
_NONE_THIS_STEP = (AT.planted, AT.exploit, AT.detect, AT.esc_sus, AT.alert_host)


@part
def reset_state(s: State, red: int) -> None:
    """Write the state at the start of an episode against one red agent."""
    s[:] = 0
    for place in _NONE_YET + _NONE_THIS_STEP:
        s[place] = -1
    aim(s, _SLEEP, -1, -1)
    s[AT.root + FOOTHOLD] = 1
    blue.note_sessions(s, FOOTHOLD)
    s[AT.kip] = 1 << FOOTHOLD
    s[AT.khost] = 1 << FOOTHOLD
    s[AT.ksub] = 1 << _USER_SUBNET
    s[AT.ot_active] = 1
    s[AT.ot_pid] = 1
    s[AT.red_success] = _UNKNOWN
    s[AT.red] = red


@part
def step_state(s: State, action: int, key: np.uint64, tape: Tape) -> int:
    """Make one step in the order of the specification; return the reward in tenths."""
    for place in _NONE_THIS_STEP:
        s[place] = -1
    s[AT.alert] = 0
    s[AT.tape_error] = 0
    blue.blue_turn(s, action)
    red_choose(s, key, tape)
    red_execute(s, key, tape)
    reward = blue.reward_tenths(s)
    blue.update_belief(s)
    return reward


@part
def draw_red(seed: np.uint64, episode: int, red_shares: NDArray[np.float64]) -> int:
    """Draw the red agent of an episode, by cumulative shares."""
    draw = uniform(step_key(seed, episode, -1), RED_AGENT)
    red = 0
    while draw >= red_shares[red]:  # the last share is 1
        red += 1
    return red


@part
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


@part
def observe(s: State, step: int, obs: NDArray[np.uint8]) -> None:
    """Write the observation after `step` steps, with memory if there is room for it."""
    blue.write_obs(s, obs[:OBS_SIZE].view(np.uint32))
    if len(obs) > OBS_SIZE:
        blue.write_memory(s, step, obs[OBS_SIZE : blue.WITH_MEMORY])
    if len(obs) > blue.WITH_MEMORY:
        blue.write_history(s, step, obs[blue.WITH_MEMORY :])


class Kernel(NamedTuple):
    """The compiled entry points."""

    reset: Callable[..., None]
    """Start the first or the next episode of every row, as `which` says."""
    step: Callable[..., int]
    """Return `STEPPED`, or `ENDED` if an episode ended.

    If nothing was stepped return `BAD_SHAPE` or the row of an illegal action.
    """


_ENVS = "int16[:, ::1], int64[:, ::1], uint64[::1], float64[::1]"
_OUT = "uint8[:, ::1], float32[::1], boolean[::1], uint8[:, ::1], uint32[::1], boolean[::1]"
_NEXT = f"uint8[::1], boolean, int64[::1], {_OUT}"
_RESET = f"void({_ENVS}, uint8[:, ::1], boolean)"
_STEP = f"int64({_ENVS}, int64[::1], int64, float64[::1], {_NEXT})"
_REPLAY = "int64(int16[::1], int64, int8[::1], uint8[::1])"


def _reset(state, clock, seeds, red_shares, obs, which):  # type: ignore[no-untyped-def]
    for i in range(len(seeds)):
        clock[i, EPISODE] = clock[i, EPISODE] + 1 if which == NEXT else 0
        begin_episode(state[i], clock[i], seeds[i], red_shares, obs[i])


def _replay(state, action, tape, obs):  # type: ignore[no-untyped-def]
    reward = step_state(state, action, np.uint64(0), tape)
    observe(state, 0, obs)
    return reward


def _step(  # type: ignore[no-untyped-def]
    state,
    clock,
    seeds,
    red_shares,
    action_table,
    episode_steps,
    returns,
    units,
    autoreset,
    actions,
    obs,
    rewards,
    truncated,
    final_obs,
    compromised,
    ended_session,
):
    n = len(state)
    if not (
        len(actions) == len(clock) == len(seeds) == len(rewards) == len(truncated) == n
        and len(compromised) == len(ended_session) == len(returns) == len(units) == n
        and obs.shape == final_obs.shape == (n, obs.shape[1])
        and obs.shape[1] in (OBS_SIZE, blue.WITH_MEMORY, blue.WITH_HISTORY)
    ):
        return BAD_SHAPE
    for i in range(n):
        if actions[i] < 0 or actions[i] >= len(action_table):
            return i
    answer = STEPPED
    for i in range(n):
        s = state[i]
        compromised[i] = s[AT.owned]
        units[i] = UNIT_MASK[s[AT.owned]]
        key = step_key(seeds[i], clock[i, EPISODE], clock[i, STEP])
        reward = step_state(s, blue.concrete_action(s, action_table[actions[i]]), key, NO_TAPE)
        ended_session[i] = s[AT.ended_session] != 0
        rewards[i] = reward / 10.0
        clock[i, STEP] += 1
        clock[i, RETURN] += reward
        truncated[i] = clock[i, STEP] >= episode_steps
        if truncated[i]:
            answer = ENDED
            returns[i] = clock[i, RETURN] / 10.0
            observe(s, clock[i, STEP], final_obs[i])
        if truncated[i] and autoreset:
            clock[i, EPISODE] += 1
            begin_episode(s, clock[i], seeds[i], red_shares, obs[i])
        else:
            observe(s, clock[i, STEP], obs[i])
    return answer


_compiling = threading.Lock()


@cache
def _compile(function: Any, signature: str) -> Any:
    return compiled(function, signature)


def _load(*wanted: tuple[Any, str]) -> list[Any]:
    with _compiling, compile_notice():
        return [_compile(*one) for one in wanted]


@cache
def load_kernel() -> Kernel:
    """Return the compiled kernel, from the disk cache if its sources have not changed."""
    return Kernel(*_load((_reset, _RESET), (_step, _STEP)))


@cache
def load_replay() -> Callable[..., int]:
    """Return (state, action, tape, obs) -> reward in tenths: a step with recorded outcomes."""
    return cast("Callable[..., int]", _load((_replay, _REPLAY))[0])


def start_state(red: Red) -> tuple[State, NDArray[np.uint8]]:
    """Return a fresh state against one red agent, and its observation."""
    state, obs = np.empty(STATE_SIZE, dtype=np.int16), np.empty(OBS_SIZE, dtype=np.uint8)
    reset_state(state, red)
    blue.write_obs(state, obs.view(np.uint32))
    return state, obs
