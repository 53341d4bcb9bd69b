"""Random outcomes, without a random state.

Every outcome is a hash of (env seed, episode, step, purpose), so an episode is the same wherever
and beside whatever it is played. A *tape* replaces the hash by recorded outcomes, one place per
purpose: `UNRECORDED` means draw, a negative outcome on the tape means that none was recorded.
"""

from __future__ import annotations

import numpy as np

from .compiling import rule

PICK = 0
SELECT_EXPLOIT = 1
DETECTION = 2
ESCALATION = 3
RED_AGENT = 4
ADDRESSES = 5

TAPE_SIZE = 4
UNRECORDED = -2
NO_TAPE = np.full(TAPE_SIZE, UNRECORDED, dtype=np.int8)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ENV_STREAM = np.uint64(0x63616765320000E5)


@rule
def mix(x: np.uint64) -> np.uint64:
    """A bijection of 64-bit words in which every input bit changes every output bit."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@rule
def step_key(seed: np.uint64, episode: int, step: int) -> np.uint64:
    """The key of all outcomes of one step."""
    stream = mix(mix(seed ^ _ENV_STREAM) + np.uint64(episode + 1) * _GOLDEN)
    return mix(stream + np.uint64(step + 1) * _GOLDEN)


@rule
def uniform(key: np.uint64, purpose: int) -> float:
    """A number in [0, 1) for one purpose."""
    bits = mix(key + np.uint64(purpose + 1) * _GOLDEN)
    return (bits >> np.uint64(11)) * 2.0**-53


@rule
def count_bits(mask: int) -> int:
    """How many members a set has."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@rule
def nth_member(mask: int, n: int) -> int:
    """The n-th member of a set, counted from 0 in rising order."""
    for _ in range(n):
        mask &= mask - 1
    member = 0
    while not mask >> member & 1:
        member += 1
    return member
