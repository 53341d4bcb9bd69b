"""The functions that are compiled into networks, as Python runs them, against numpy's own."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench.policies.elementary import exponentials, tangents
from wfbench.policies.table import pack_row


def powers_of_e(*powers):
    """Run on one number more than is asked for, which has to stay as it is."""
    values = np.array([*powers, 0.5], dtype=np.float32)
    with np.errstate(over="ignore"):
        exponentials(values, np.zeros(len(values), dtype=np.int32), len(powers))
    assert values[-1] == 0.5
    return values[:-1]


def hyperbolic(*values):
    found = np.array([*values, 0.5], dtype=np.float32)
    tangents(found, len(values))
    assert found[-1] == 0.5
    return found[:-1]


def test_exponentials_are_exact_to_seven_digits():
    powers = np.concatenate([np.linspace(-68.9, 86.9, 400), np.linspace(-1.0, 1.0, 101)])
    powers = powers.astype(np.float32)
    np.testing.assert_allclose(powers_of_e(*powers), np.exp(powers.astype(np.float64)), rtol=4e-7)


def test_powers_beyond_the_limits_count_as_the_limits():
    [large, larger, infinite] = powers_of_e(87.0, 88.0, np.inf)
    assert large == larger == infinite == pytest.approx(np.exp(87.0), rel=1e-6)
    small, *smaller = powers_of_e(-68.99, -69.0, -69.01, -70.0, -np.inf)
    assert small == pytest.approx(np.exp(-68.99), rel=1e-6)
    assert smaller == [0.0] * 4
    assert powers_of_e(0.0, -0.0).tolist() == [1.0, 1.0]
    assert np.isnan(powers_of_e(np.nan, 1.0)).tolist() == [True, False]


def test_tangents_are_exact_to_six_digits():
    values = np.linspace(-9.0, 9.0, 501).astype(np.float32)
    wanted = np.tanh(values.astype(np.float64))
    np.testing.assert_allclose(hyperbolic(*values), wanted, rtol=1e-6, atol=1e-7)


def test_large_numbers_have_a_tangent_of_1():
    assert np.abs(hyperbolic(-np.inf, -30.0, 30.0, np.inf) - [-1, -1, 1, 1]).max() < 1e-6
    assert hyperbolic(0.0).tolist() == [0.0]
    assert np.isnan(hyperbolic(np.nan, 1.0)).tolist() == [True, False]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 19])
def test_bytes_are_packed_into_words_of_eight(size):
    raw = np.random.default_rng(size).integers(1, 256, (3, size), dtype=np.uint8)
    words = np.full(-(-size // 8), 7, dtype=np.uint64)
    pack_row(raw, 1, words)
    assert words.tobytes() == raw[1].tobytes().ljust(8 * len(words), b"\0")
