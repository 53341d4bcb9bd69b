"""Acting and stepping many times in one call, against the two in turn, and the sums in both."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from wfbench.contract import Acts, CollectError, StepArrays
from wfbench.policies import NetworkPolicy, network
from wfbench.policies.kernel import act_rows
from wfbench.policies.playing import Callback, act_callback
from wfbench.policies.tiles import gather, multiply, scatter
from wfbench_cage2.batch import Cage2Batch

ENVS = 9


def batch_and_policy() -> tuple[Cage2Batch, NetworkPolicy]:
    batch = Cage2Batch(ENVS, red="meander", episode_steps=5, memory=True)
    [size] = batch.info.obs_shape
    return batch, NetworkPolicy.initial(size, batch.info.num_actions, 3, hidden=(8,))


def arrays(batch: Cage2Batch, rows: int, width: int) -> tuple[NDArray[Any], Acts, StepArrays]:
    """Return room for so many steps of so many columns, filled with what no step writes."""
    one = StepArrays.allocate(width, batch.info)
    out = StepArrays(**{n: np.full((rows, *a.shape), 7, a.dtype) for n, a in vars(one).items()})
    acts = Acts(*[np.full((rows, width), 7, kind) for kind in (np.int64, np.float32, np.float32)])
    return np.full((rows + 1, width, *batch.info.obs_shape), 7, np.uint8), acts, out


def play_in_turn(draws: NDArray[np.float64], obs: Any, acts: Any, out: Any, place: Any) -> None:
    batch, policy = batch_and_policy()
    first, columns = place
    batch.reset(np.arange(ENVS, dtype=np.uint64), obs[first, columns])
    for t, row in enumerate(draws, start=first):
        for column, found in zip(acts, policy.act(obs[t, columns], row), strict=True):
            column[t, columns] = found
        into = {name: array[t, columns] for name, array in vars(out).items()}
        batch.step(acts.actions[t, columns], StepArrays(**into | {"obs": obs[t + 1, columns]}))


@pytest.mark.parametrize(
    ("rows", "steps", "first", "width", "columns"),
    [(1, 1, 0, ENVS, slice(None)), (20, 13, 4, ENVS + 9, slice(6, 6 + ENVS))],
    ids=["one step", "a part"],
)
def test_playing_is_acting_and_stepping_in_turn(monkeypatch, rows, steps, first, width, columns):
    monkeypatch.setattr(network, "_FIRST_TABLE_BYTES", 1)  # so that the table grows while it plays
    batch, policy = batch_and_policy()
    draws = np.random.default_rng(1).random((steps, ENVS))
    obs, acts, out = arrays(batch, rows, width)
    batch.reset(np.arange(ENVS, dtype=np.uint64), obs[first, columns])
    began = perf_counter()
    seconds = policy.play(batch.compiled_step, obs, draws, acts, out, first, columns)
    assert 0 < seconds < perf_counter() - began
    wanted = arrays(batch, rows, width)
    play_in_turn(draws, *wanted, (first, columns))
    assert np.array_equal(obs, wanted[0])
    for found, expected in zip(acts, wanted[1], strict=True):
        assert np.array_equal(found, expected)
    ended = out.truncated[first : first + steps, columns]
    assert ended.sum() == steps // 5 * ENVS
    for name in ("rewards", "truncated", "final_obs", "compromised", "ended_session"):
        assert np.array_equal(getattr(out, name), getattr(wanted[2], name)), name
    assert policy.distinct_rows == len(
        np.unique(obs[first : first + steps, columns].reshape(steps * ENVS, -1), axis=0)
    )


def test_playing_stops_where_there_are_no_probabilities():
    batch, policy = batch_and_policy()
    spoilt = NetworkPolicy([(w * np.nan, b) for w, b in policy.actor], policy.critic)
    obs, acts, out = arrays(batch, 2, ENVS)
    batch.reset(np.arange(ENVS, dtype=np.uint64), obs[0])
    draws = np.zeros((2, ENVS))
    for _ in range(2):
        with pytest.raises(CollectError, match="gives no probabilities"):
            spoilt.play(batch.compiled_step, obs, draws, acts, out, 0, slice(None))
        assert spoilt.distinct_rows == 0, "what was refused is forgotten"


def test_a_function_is_called_as_compiled_for_the_types_of_its_first_argument():
    second = njit(lambda rows, raw: rows[0] + raw[1])
    raw = np.zeros(2, np.uint8)
    found = {kind: act_callback(second, np.zeros(2, kind), raw) for kind in (np.uint8, np.float32)}
    for kind, callback in found.items():
        assert isinstance(callback, Callback)
        assert str(callback.signature().args[0].dtype) == np.dtype(kind).name
        assert callback.__wrapper_address__() != 0
        assert act_callback(second, np.zeros(3, kind), raw) is callback
    assert len(set(found.values())) == 2


def test_compiled_code_lets_other_threads_run_and_counts_no_references():
    options = act_rows.targetoptions
    assert (options["nogil"], options["_nrt"], options["error_model"]) == (True, False, "numpy")


@njit
def _sums(out, width, left, strides, right, sizes, lines, first, last):
    multiply(out[0], width, left, strides[0], strides[1], right, sizes[0], sizes[1])
    gather(out[1], 2, right, width, lines, first, last)
    scatter(out[2], width, lines, first, last, right, 1)


def test_vector_code_multiplies_gathers_and_scatters():
    width, height, depth = 32, 16, 5
    rng = np.random.default_rng(3)
    right = rng.integers(-9, 9, (depth, width)).astype(np.float32)
    left = rng.integers(-9, 9, (height, depth)).astype(np.float32)
    before = rng.integers(-9, 9, (3, height, width)).astype(np.float32)
    lines = np.array([3, 1, 4, 4, 0], np.int32)
    for strides, order in (((depth, 1), "C"), ((1, height), "F")):
        for first, last in ((1, 4), (2, 2)):
            out = before.reshape(3, -1).copy()
            _sums(
                *(out, width, left.ravel(order), strides, right.ravel()),
                *((height, depth), lines, first, last),
            )
            wanted = before.copy()
            wanted[0] += left @ right
            wanted[1, 2] += right[lines[first:last]].sum(axis=0)
            np.add.at(wanted[2], lines[first:last], right[1])
            assert np.array_equal(out.reshape(before.shape), wanted)
