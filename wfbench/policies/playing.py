"""Choose actions and make steps in turn, many times in one compiled call.

Policy and environment are called by their addresses, so neither is compiled again for it.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from .compiling import compiled, part

_MONOTONIC = int(time.CLOCK_MONOTONIC)
_read_clock: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))

STEP, ROW, NANOSECONDS, CLOCK = range(4)
"""Places in `progress`: where to go on, the time that steps took, and room to read the clock."""


def new_progress() -> NDArray[np.int64]:
    """Return the progress before the first step."""
    return np.zeros(CLOCK + 2, dtype=np.int64)


@part
def _now(progress: Any) -> Any:
    """Return nanoseconds."""
    clock = progress[CLOCK:]
    _read_clock(_MONOTONIC, clock.ctypes)
    return clock[0] * 1_000_000_000 + clock[1]


class Callback(types.WrapperAddressProtocol):
    """A compiled function that compiled code takes as an argument."""

    def __init__(self, function: Any, argument_types: tuple[Any, ...]) -> None:
        if argument_types not in function.overloads:
            function.compile(argument_types)
        found = function.overloads[argument_types]
        self._signature = found.signature
        self._address = found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name)

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        """Return the types of arguments and result."""
        return self._signature


@cache
def step_callback(function: Any) -> Callback:
    """Return a function that is compiled for one signature."""
    (argument_types,) = function.overloads
    return Callback(function, argument_types)


_acting: dict[Any, Callback] = {}


def act_callback(function: Any, *arguments: Any) -> Callback:
    """Return a function as it is compiled for arguments whose first tells the types of all."""
    kind = function, arguments[0].dtype
    if kind not in _acting:
        _acting[kind] = Callback(function, tuple(map(typeof, arguments)))
    return _acting[kind]


@compiled
def play_steps(
    act: Any,
    step: Any,
    context: Any,
    may_grow: bool,  # noqa: FBT001 (compiled code takes its arguments by position)
    networks: Any,
    used: Any,
    slots: Any,
    found: Any,
    room: Any,
    obs: Any,
    raw: Any,
    draws: Any,
    acts: Any,
    out: Any,
    cells: Any,
    progress: Any,
) -> Any:
    """Go on where `progress` says, until each row of `draws` is used; return what `act` returned.

    Fewer than all rows: a step could not be made. `cells`: first step, first column, last + 1.
    """
    actions, log_probs, values = acts
    rewards, truncated, final_obs, compromised, ended_session = out
    first, begin, end = cells
    row = end - begin
    while progress[STEP] < draws.shape[0]:
        t = first + progress[STEP]
        row = act(
            obs[t, begin:end],
            raw[t, begin:end],
            draws[progress[STEP]],
            progress[ROW],
            may_grow,
            networks,
            used,
            slots,
            found,
            room,
            actions[t, begin:end],
            log_probs[t, begin:end],
            values[t, begin:end],
        )
        if row != end - begin:
            break
        progress[NANOSECONDS] -= _now(progress)
        step(
            *context,
            actions[t, begin:end],
            obs[t + 1, begin:end],
            rewards[t, begin:end],
            truncated[t, begin:end],
            final_obs[t, begin:end],
            compromised[t, begin:end],
            ended_session[t, begin:end],
        )
        progress[NANOSECONDS] += _now(progress)
        progress[STEP] += 1
        progress[ROW] = 0
    return row
