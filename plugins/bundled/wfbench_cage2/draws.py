"""Random outcomes without a random state.

Every outcome is a hash of (env seed, episode, step, purpose), so an episode does not depend on
where or with which others it is played. A *tape* replaces the hash by recorded outcomes, one place
per purpose: `UNRECORDED` means draw; another negative number means that nothing was recorded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiling import part
from .layout import AT, State

Tape = NDArray[np.int8]

PICK, SELECT_EXPLOIT, DETECTION, ESCALATION, RED_AGENT = range(5)

TAPE_SIZE = 4
UNRECORDED = -2
NO_TAPE = np.full(TAPE_SIZE, UNRECORDED, dtype=np.int8)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ENV_STREAM = np.uint64(0x63616765320000E5)


@part
def mix(x: np.uint64) -> np.uint64:
    """Map 64-bit words one to one so that every input bit affects every output bit."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@part
def step_key(seed: np.uint64, episode: int, step: int) -> np.uint64:
    """Return the key of all outcomes of one step."""
    stream = mix(mix(seed ^ _ENV_STREAM) + np.uint64(episode + 1) * _GOLDEN)
    return mix(stream + np.uint64(step + 1) * _GOLDEN)


@part
def uniform(key: np.uint64, purpose: int) -> float:
    """Return a number in [0, 1) for one purpose."""
    bits = mix(key + np.uint64(purpose + 1) * _GOLDEN)
    return (bits >> np.uint64(11)) * 2.0**-53


@part
def count_bits(mask: int) -> int:
    """Count the members of a set."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@part
def nth_member(mask: int, n: int) -> int:
    """Return the n-th member of a set, counted from 0 in rising order."""
    for _ in range(n):
        mask &= mask - 1
    member = 0
    while not mask >> member & 1:
        member += 1
    return member


@part
def on_tape(s: State, tape: Tape, purpose: int, possible: int) -> int:
    """Return the outcome on the tape, a member of `possible`; `UNRECORDED` if it is to be drawn."""
    outcome = int(tape[purpose])
    if outcome == UNRECORDED or (outcome >= 0 and possible >> outcome & 1):
        return outcome
    s[AT.tape_error] = 1
    return nth_member(possible, 0)
