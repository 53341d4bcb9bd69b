"""Sweeps on disk: read back as they were written, and refused where something is wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from wfbench.contract import UsageError
from wfbench.store.files import write_arrays
from wfbench.store.sweeps import Sweep, read_sweeps, right_by, write_sweeps

ORDERS = ((0, 1), (1, 0))


def sweep(**changed: object) -> Sweep:
    """Two orders of two units, three episodes each."""
    met = np.zeros((2, 4, 2), np.int64)
    met[:, 3, 0] = 6, 1  # both compromised, unit 0 fixed
    met[:, 3, 1] = 2, 7
    whole = Sweep(
        orders=ORDERS,
        env_return=np.arange(6.0).reshape(2, 3),
        choices=np.full((2, 3), 2),
        right=np.array([[2, 1, 0], [1, 1, 1]]),
        met=met,
    )
    return dataclasses.replace(whole, **changed)


def test_sweeps_are_read_back_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    written = {"normal": sweep(), "stress": sweep(env_return=-np.ones((2, 3)))}
    write_sweeps(path, written)
    found = read_sweeps(path)
    assert list(found) == ["normal", "stress"]
    for name, one in written.items():
        assert found[name].orders == ORDERS
        for part in ("env_return", "choices", "right", "met"):
            assert np.array_equal(getattr(found[name], part), getattr(one, part))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"env_return": np.zeros(6)}, "sweep 'normal' lacks arrays"),
        ({"right": np.zeros((2, 4))}, "the arrays of sweep 'normal' differ in shape"),
        ({"choices": np.zeros((3, 3))}, "the arrays of sweep 'normal' differ in shape"),
        ({"orders": ((0, 1), (1, 1))}, "has a row that is not an order"),
        ({"met": np.zeros((2, 2, 2), np.int64)}, "does not say which choices were met"),
        ({"met": np.zeros((1, 4, 2), np.int64)}, "does not say which choices were met"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_said(tmp_path: Path, change, message) -> None:
    path = tmp_path / "s.npz"
    write_sweeps(path, {"normal": sweep(**change)})
    with pytest.raises(UsageError, match=message):
        read_sweeps(path)


@pytest.mark.parametrize(
    ("missing", "message"),
    [("right", "lacks arrays"), ("orders", "lacks arrays"), ("met", "which choices were met")],
)
def test_an_array_that_is_missing_is_an_error(tmp_path: Path, missing, message) -> None:
    path = tmp_path / "s.npz"
    parts = {"orders": np.array(ORDERS), **dataclasses.asdict(sweep(orders=np.array(ORDERS)))}
    arrays = {f"normal/{part}": array for part, array in parts.items() if part != missing}
    write_arrays(path, arrays, {"schema": "wfbench/sweeps/1", "sweeps": ["normal"]})
    with pytest.raises(UsageError, match=message):
        read_sweeps(path)


def test_a_file_that_is_not_there_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*gone\.npz: No such file or directory"):
        read_sweeps(tmp_path / "gone.npz")


def test_choices_are_right_by_the_order_that_judges() -> None:
    shares = right_by(sweep(), ORDERS)
    assert shares.tolist() == [[6 / 8, 2 / 8], [1 / 8, 7 / 8]]
    none = right_by(sweep(met=np.zeros((2, 4, 2), np.int64)), ORDERS)
    assert np.isnan(none).all()
