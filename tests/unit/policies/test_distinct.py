"""Equal rows are found, and told apart byte for byte."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench.policies import distinct
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


@pytest.mark.parametrize("by_python", [False, True])
@pytest.mark.parametrize("width", [1, 8, 17, 19, 25])
def test_every_byte_counts(monkeypatch, width, by_python):
    """Rows that differ in one byte, at any place of the packed words, are distinct."""
    if by_python:  # which sees every bad index
        monkeypatch.setattr(distinct, "_group", distinct._group.py_func.__wrapped__)
    rows = np.zeros((width + 1, width), np.uint8)
    rows[1:] = np.eye(width, dtype=np.uint8) * 128
    everyone = list(range(width + 1))
    with np.errstate(over="ignore"):  # of hashes
        for times in (1, 2):
            first, inverse = distinct_rows(np.concatenate([rows] * times))
            assert first.tolist() == everyone
            assert inverse.tolist() == everyone * times


def test_one_row_is_distinct():
    first, inverse = distinct_rows(np.ones((1, 3), np.float32))
    assert first.tolist() == inverse.tolist() == [0]
