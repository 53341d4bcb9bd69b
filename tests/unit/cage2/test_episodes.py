"""Played episodes are the same in every version, bit by bit.

Results refer to env seeds: a change here makes every stored result unrepeatable.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from wfbench_cage2 import Cage2VectorEnv
from wfbench_cage2.draws import NO_TAPE, count_bits, mix, nth_member, on_tape, step_key, uniform
from wfbench_cage2.layout import AT, STATE_SIZE
from wfbench_cage2.tables import NUM_ACTIONS, REDUCED_ACTIONS

RICH = {"memory": True, "history": True, "actions": "reduced"}


def played(steps, **options):
    """The digest of all that 60 environments show in so many steps of chosen actions."""
    env = Cage2VectorEnv(60, seed=[2**64 - 1, *range(59)], episode_steps=70, **options)
    count = len(REDUCED_ACTIONS) if "actions" in options else NUM_ACTIONS
    digest = hashlib.sha256(env.reset()[0].tobytes())
    for step in range(steps):
        obs, rewards, _, truncated, info = env.step((np.arange(60) * (step + 7) + step) % count)
        tenths = np.rint(10 * rewards).astype(np.int64)
        shown = (obs, tenths, truncated, info["ended_session"], info["compromised_units"])
        state = info["state"].astype(np.int64)
        for array in (*shown, info["compromised_hosts"].astype(np.int64), state):
            digest.update(array.tobytes())
        if truncated.any():
            digest.update(info["final_obs"].tobytes())
            digest.update(np.rint(10 * info["episode_return"]).astype(np.int64).tobytes())
    return digest.hexdigest()[:16]


@pytest.mark.parametrize(
    ("options", "digest"),
    [
        ({"red": "bline"}, "82a86d87724cea92"),
        ({"red": "meander"}, "1bc28b2cde68fd68"),
        ({"red": "sleep"}, "d87439921aa4fc21"),
        ({"red": "mixed", "red_weights": "bline=2;meander=1;sleep=1"}, "16cfa4d834b0b3d8"),
        ({"red": "mixed", **RICH}, "e21083f8fd9b075c"),
        ({"red": "bline", "memory": True}, "d9c01ae765d74c43"),
    ],
    ids=str,
)
def test_episodes_are_the_same_in_every_version(options, digest):
    assert played(230, **options) == digest


def test_draws_are_the_same_in_every_version():
    with np.errstate(over="ignore"):
        key = step_key(np.uint64(5), 2, 7)
        assert int(mix(np.uint64(1))) == 6238072747940578789
        assert int(key) == 15468477149005797407
        assert [uniform(key, purpose) for purpose in range(3)] == [
            0.8254585612927147,
            0.31864748757604777,
            0.617912569696195,
        ]


def test_members_of_sets_are_counted_and_found_in_rising_order():
    assert [count_bits(mask) for mask in (0, 1, 0b1011, 2**13 - 1)] == [0, 1, 3, 13]
    assert [nth_member(0b101100, n) for n in range(3)] == [2, 3, 5]


@pytest.mark.parametrize(
    ("recorded", "possible", "outcome", "error"),
    [
        (-2, 0b1010, -2, 0),
        (0, 0b0001, 0, 0),
        (3, 0b1010, 3, 0),
        (2, 0b1010, 1, 1),
        (0, 0b1100, 2, 1),
        (-1, 0b0001, 0, 1),
        (-3, 0b1000, 3, 1),
    ],
)
def test_a_recorded_outcome_counts_if_it_is_possible(recorded, possible, outcome, error):
    state = np.zeros(STATE_SIZE, dtype=np.int16)
    tape = NO_TAPE.copy()
    assert tape.tolist() == [-2] * 4
    tape[2] = recorded
    assert on_tape(state, tape, 2, possible) == outcome
    assert state[AT.tape_error] == error
    assert np.count_nonzero(state) == error
