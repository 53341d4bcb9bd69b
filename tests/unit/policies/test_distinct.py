"""Equal rows are found, and told apart byte for byte."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench.policies.distinct import distinct_rows


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("width", [1, 7, 8, 52, 136])
def test_distinct_rows_are_those_numpy_finds(dtype, width):
    rows = np.random.default_rng(width).integers(0, 2, (500, width)).astype(dtype)
    rows[100:200] = rows[0]
    first, inverse = distinct_rows(rows)
    assert (rows[first][inverse] == rows).all()
    assert len(first) == len(np.unique(rows, axis=0))
    assert (np.sort(first) == first).all()


def test_rows_are_numbered_in_the_order_they_appear():
    rows = np.uint8([[3, 0], [1, 2], [3, 0], [0, 3], [1, 2], [3, 0]])
    first, inverse = distinct_rows(rows)
    assert first.tolist() == [0, 1, 3]
    assert inverse.tolist() == [0, 1, 0, 2, 1, 0]


def test_rows_of_several_dimensions():
    first, inverse = distinct_rows(np.eye(4, dtype=np.float32).reshape(4, 2, 2))
    assert first.tolist() == inverse.tolist() == [0, 1, 2, 3]


def test_every_byte_counts():
    """Rows that differ in one byte, at any place of the packed words, are distinct."""
    width = 19
    rows = np.zeros((width + 1, width), np.uint8)
    rows[1:] = np.eye(width, dtype=np.uint8) * 128
    first, inverse = distinct_rows(np.concatenate([rows, rows]))
    assert first.tolist() == list(range(width + 1))
    assert inverse.tolist() == [*range(width + 1)] * 2
