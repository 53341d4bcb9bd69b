"""The synthetic dynamics: a counter-based generator.

Every function works on a Python integer and on an array of uint64, so the scalar and the batched
form cannot differ. A state is 64 bits, determined by the env's seed, the number of the episode and
every action since its start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import WorkflowModel

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_STREAM = 0x73796E7468657469
_OBS_STEP = 0xD1B54A32D192ED03

UNITS = ("user", "enterprise", "operational", "server", "defender")


def workflow_model(num_actions: int) -> WorkflowModel:
    """Return up to 13 hosts; action 0 waits, the next ones fix one host each, the rest nothing."""
    hosts = min(13, num_actions - 1)
    return WorkflowModel(
        units=UNITS,
        hosts=tuple(f"host-{index}" for index in range(hosts)),
        host_unit=tuple(index % len(UNITS) for index in range(hosts)),
        fix_host=tuple(a - 1 if 1 <= a <= hosts else -1 for a in range(num_actions)),
        idle=0,
    )


def mix(x: Any) -> Any:
    """Map 64-bit numbers one to one so that every output bit depends on every input bit."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def first_state(seed: Any, episode: Any) -> Any:
    """Return the first state of an episode of a seed's stream."""
    return mix((mix(seed ^ _STREAM) + (episode * _GOLDEN & _MASK)) & _MASK)


def next_state(state: Any, action: Any) -> Any:
    """Return the state that an action leads to."""
    return mix((state + ((action + 1) * _GOLDEN & _MASK)) & _MASK)


def reward(state: Any) -> Any:
    """Return the reward of a state: a multiple of 1/64 in (-4, 0], exact in float32."""
    return ((state >> 8) & 0xFF) / -64


def compromised(state: Any, hosts: int) -> Any:
    """Return the bit mask of the hosts that are compromised in a state."""
    return (state >> 16) & ((1 << hosts) - 1)


def ends_by_termination(episode: Any) -> Any:
    """Tell whether an episode is terminated; every second one is, the others are truncated."""
    return episode % 2 == 1


class Observer:
    """Turns states into observations."""

    def __init__(self, obs_size: int, obs_dtype: str, distinct: int) -> None:
        self._size = obs_size
        self._binary = obs_dtype == "uint8"
        self._distinct = distinct
        self._words = -(-obs_size // (64 if self._binary else 8))

    def one(self, state: int) -> NDArray[Any]:
        """Return the observation of one state."""
        words = (word.to_bytes(8, "little") for word in self._stream(state))
        return self._features(np.frombuffer(b"".join(words), dtype=np.uint8))

    def many(self, states: NDArray[np.uint64]) -> NDArray[Any]:
        """Return the observations of states, one row each."""
        words = np.stack(list(self._stream(states)), axis=1).astype("<u8")
        return self._features(words.view(np.uint8))

    def _stream(self, state: Any) -> Any:
        base = mix(state) % self._distinct if self._distinct else state
        return (mix((base + (i + 1) * _OBS_STEP % (1 << 64)) & _MASK) for i in range(self._words))

    def _features(self, raw: NDArray[np.uint8]) -> NDArray[Any]:
        if self._binary:
            return np.unpackbits(raw, axis=-1, bitorder="little")[..., : self._size]
        return raw[..., : self._size].astype(np.float32) / np.float32(256)
