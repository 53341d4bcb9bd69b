"""What compiled code does with a table and a network, run by Python, which sees every bad index.

Plain loops stand for the sums in vector registers, which Python cannot run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wfbench.policies import NetworkPolicy, kernel, layers, table
from wfbench.policies.layers import BLOCK, flatten

SIZE, ACTIONS = 5, 7


def gather(out: Any, row: int, lines: Any, width: int, chosen: Any, first: int, last: int) -> None:
    for line in chosen[first:last]:
        out[row * width : (row + 1) * width] += lines[line * width : (line + 1) * width]


def multiply(
    out: Any, width: int, left: Any, row_stride: int, depth_stride: int, right: Any, *size: int
) -> None:
    height, depth = size
    for row in range(height):
        for k in range(depth):
            number = left[row * row_stride + k * depth_stride]
            out[row * width : (row + 1) * width] += number * right[k * width : (k + 1) * width]


def plain(function: Any) -> Any:
    """Return a function as it was before it was given its key, which Python cannot show."""
    return function.py_func.__wrapped__


@pytest.fixture(autouse=True)
def _run_by_python(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(layers, "gather", gather)
    monkeypatch.setattr(layers, "multiply", multiply)
    monkeypatch.setattr(table, "index_entries", plain(table.index_entries))
    with np.errstate(over="ignore"):  # of hashes
        yield


def networks_of(policy: NetworkPolicy) -> kernel.Networks:
    actor, critic = (
        flatten(policy.actor, policy.condition),
        flatten(policy.critic, policy.condition),
    )
    return kernel.Networks(*actor, *critic)


def act(
    policy: NetworkPolicy, obs: NDArray[Any], draws: NDArray[np.float64], rows: int
) -> tuple[int, table.EntryTable, tuple[Any, ...]]:
    """Act with a table that begins with one entry; return where it ended, the table, the acts."""
    found = table.EntryTable(obs.shape[1] * obs.itemsize, policy.num_actions, rows, 0)
    networks = networks_of(policy)
    room = kernel.new_room(networks)
    count = len(obs)
    acts = (
        np.full(count, -1, np.int64),
        np.full(count, np.nan, np.float32),
        np.full(count, np.nan, np.float32),
    )
    done = 0
    while True:
        before = done, [column[done:].copy() for column in acts]
        known = (found.may_grow, networks, found.used, found.slots, found.entries, room)
        done = plain(kernel.act_rows)(obs, obs.view(np.uint8), draws, done, *known, *acts)
        if done in (count, kernel.NOT_FINITE):
            return done, found, acts
        assert done >= before[0], "it goes on where it stopped"
        for column, was in zip(acts, before[1], strict=True):
            np.testing.assert_array_equal(column[done:], was[done - before[0] :])
        assert found.used[0] == found.capacity < rows
        found.grow()


def exact(policy: NetworkPolicy, obs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return probabilities and values in float64."""
    outputs = []
    for network in (policy.actor, policy.critic):
        rows = obs.astype(np.float64)
        for number, (weights, biases) in enumerate(network, start=1):
            rows = rows @ weights.astype(np.float64) + biases
            rows = np.tanh(rows) if number < len(network) else rows
        outputs.append(rows)
    powers = np.exp(outputs[0] - outputs[0].max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), outputs[1][:, 0]


@pytest.mark.parametrize(("hidden", "dtype"), [((), np.float32), ((18,), np.uint8), ((3, 4), "u1")])
@pytest.mark.parametrize("table_rows", [0, 5, 1000])
def test_rows_in_several_blocks_are_acted_on_as_computed_exactly(hidden, dtype, table_rows):
    policy = NetworkPolicy.initial(SIZE, ACTIONS, 2, hidden=hidden)
    rng = np.random.default_rng(4)
    obs = rng.integers(0, 2, (BLOCK + 40, SIZE)).astype(dtype)
    obs[::2, 1:4] = rng.integers(0, 6, obs[::2, 1:4].shape)
    obs[: BLOCK + 4, 0] = np.arange(BLOCK + 4) + 2  # more than fill a block
    obs[5] = 0
    obs[BLOCK + 20] = obs[0]
    draws = rng.random(len(obs))
    done, found, acts = act(policy, obs, draws, table_rows)
    chances, values = exact(policy, obs)
    rows = np.arange(len(obs))
    above = np.cumsum(chances, axis=1)[rows, acts[0]]
    assert done == len(obs)
    np.testing.assert_allclose(acts[2], values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.exp(acts[1]), chances[rows, acts[0]], rtol=1e-4, atol=1e-5)
    assert (draws < above + 1e-5).all()
    assert (draws > above - chances[rows, acts[0]] - 1e-5).all()
    assert found.used[0] == min(len(np.unique(obs, axis=0)), table_rows)


@pytest.mark.parametrize("best", range(4))
def test_an_action_that_is_far_more_likely_is_chosen_and_certain(best):
    zeros = np.zeros((2, 4), np.float32)
    actor = [(zeros, np.float32(200.0) * np.eye(4, dtype=np.float32)[best])]
    policy = NetworkPolicy(actor, [(zeros[:, :1], np.zeros(1, np.float32))])
    draws = np.array([0.0, 0.5, np.nextafter(1.0, 0.0)])
    done, _, (actions, log_probs, _) = act(policy, np.zeros((3, 2), np.uint8), draws, 9)
    assert done == 3
    assert actions.tolist() == [best] * 3
    assert log_probs.tolist() == [0.0] * 3


@pytest.mark.parametrize("draw", [0.0, 0.25, 0.5, 0.75])
def test_the_first_action_whose_cumulative_chance_exceeds_the_draw_is_chosen(draw):
    nothing = np.zeros((1, 4), np.float32)
    policy = NetworkPolicy([(nothing, nothing[0])], [(nothing[:, :1], nothing[0, :1])])
    _, _, acts = act(policy, np.zeros((1, 1), np.uint8), np.array([draw]), 1)
    assert acts[0].tolist() == [int(4 * draw)]


@pytest.mark.parametrize("spoilt", ["actor", "critic"])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_row_without_finite_results_ends_it_wherever_it_stands(spoilt, row):
    start = NetworkPolicy.initial(2, 3, 1, hidden=())
    parts = {"actor": start.actor, "critic": start.critic}
    [(weights, biases)] = parts[spoilt]
    weights = weights.copy()
    weights[1] = np.inf
    policy = NetworkPolicy(**parts | {spoilt: [(weights, biases)]})
    obs = np.array([[1, 0], [2, 0], [3, 0]], np.float32)
    assert act(policy, obs, np.zeros(3), 9)[0] == 3
    obs[row, 1] = 4.0
    with np.errstate(invalid="ignore"):
        assert act(policy, obs, np.zeros(3), 9)[0] == kernel.NOT_FINITE


def test_room_is_for_one_block_of_the_wider_network():
    actor = [(np.zeros((5, 20)), np.zeros(20)), (np.zeros((20, 3)), np.zeros(3))]
    critic = [(np.zeros((5, 2)), np.zeros(2)), (np.zeros((2, 1)), np.zeros(1))]
    room = kernel.new_room(networks_of(NetworkPolicy(actor, critic)))
    assert {name: len(array) for name, array in room._asdict().items()} == (
        dict.fromkeys(("entries", "new_rows", "new_entries", "counts"), 64)
        | {"lists": 64 * 5, "units": 64 * (32 + 16), "powers": 3, "exponents": 3}
    )


def test_a_condition_is_added_to_the_first_biases_and_a_network_is_padded():
    weights = np.arange(9, dtype=np.float32).reshape(3, 3)
    flat, sizes = flatten([(weights, np.float32([10, 20, 30]))], np.float32([2]))
    assert sizes.tolist() == [2, 3]
    assert flat.reshape(3, 16)[:, :3].tolist() == [[0, 1, 2], [3, 4, 5], [22, 34, 46]]
    assert np.count_nonzero(flat.reshape(3, 16)[:, 3:]) == 0


def test_inputs_are_listed_and_counted_negatively_if_they_are_not_bits():
    obs = np.array([[0, 1, 0, 1], [0, 0, 0, 0], [9, 9, 9, 9], [1, 1, 1, 1], [2, 0, 0, 1]], np.uint8)
    rows, counts = np.array([0, 1, 3, 4]), np.full(4, 99)
    lists = np.full(4 * 4, -1, np.int32)
    layers.list_inputs(obs, rows, lists, counts)
    assert counts.tolist() == [2, 0, 4, -2]
    lines = [
        line[:count].tolist() for line, count in zip(lists.reshape(4, 4), abs(counts), strict=True)
    ]
    assert lines == [[1, 3], [], [0, 1, 2, 3], [0, 3]]


@pytest.mark.parametrize(("last_word", "slot"), [(10, 6), (11, 7), (12, 0), (13, 1)])
def test_entries_with_the_same_hash_are_told_apart_by_their_last_word(last_word, slot):
    key = np.uint64(0b1110 << 20)
    words = np.array([[5, 10], [5, 11], [5, 12], [5, last_word]], np.uint64)
    hashes = np.full(4, key)
    slots = np.full(8, -1, np.int32)
    table.index_entries(slots, hashes, 3)
    assert slots.tolist() == [2, -1, -1, -1, -1, -1, 0, 1]
    assert table.find_slot(slots, hashes, words, key, 3) == slot
    other = key + np.uint64(8 << 20)  # the same slots, another hash
    assert table.find_slot(slots, hashes, words, other, 3) == 1


@pytest.mark.parametrize("last", [0, 1])
def test_every_word_counts_for_a_hash(last):
    keys = {int(table.hash_words(np.array(words, np.uint64))) for words in ([3, last], [3, 7], [3])}
    assert len(keys) == 3


def test_a_table_begins_as_told_and_doubles_up_to_its_bound():
    found = table.EntryTable(17, 3, 10, first_bytes=0)
    seen = []
    for _ in range(5):
        seen.append((found.capacity, found.may_grow, len(found.slots)))
        assert (found.slots == -1).all()
        rows = found.capacity + BLOCK
        assert [part.shape for part in found.entries] == [
            *((found.capacity + 1,), (found.capacity + 1, 3)),
            *((rows, 3), (rows, 3), (rows,)),
        ]
        found.grow()
    assert seen == [(1, True, 4), (2, True, 8), (4, True, 16), (8, True, 32), (10, False, 32)]


@pytest.mark.parametrize(
    ("rows", "first_bytes", "capacity"),
    [(0, 999, 0), (99, 6 * 8 * 20, 20), (99, 6 * 8 * 20 - 1, 19), (15, 6 * 8 * 20, 15)],
)
def test_the_first_size_of_a_table_is_that_of_so_many_bytes(rows, first_bytes, capacity):
    found = table.EntryTable(24, 3, rows, first_bytes)
    assert (found.capacity, found.may_grow) == (capacity, capacity < rows)
    assert len(found.slots) > capacity


@pytest.mark.parametrize("size", [1, 16, 100, 1000])
def test_networks_begin_with_a_cache_line(size):
    for array in [flatten([(np.zeros((size, 1)), np.zeros(1))], np.zeros(0))[0] for _ in range(4)]:
        assert array.ctypes.data % 64 == 0
        assert array.size == (size + 1) * 16
        assert not array.any()
