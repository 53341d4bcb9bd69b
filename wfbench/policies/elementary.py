"""Exponentials and hyperbolic tangents of many numbers, in vector code.

A call per number would prevent that. Products may be fused into sums; that is decided when
compiling, so the same number gives the same result wherever it stands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import compiling
from .compiling import Function


def part(function: Function) -> Function:
    """Compile with products fused into sums."""
    return compiling.part(function, fastmath={"contract"})


_LARGEST = np.float32(87.0)
"""Larger powers of e count as infinite."""
_SMALLEST = np.float32(-69.0)
"""Smaller powers of e count as 0; products with 1e-30 stay normal numbers, and so fast."""
_LOG2_E = np.float32(1.0 / math.log(2.0))
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(math.log(2.0) - 0.693359375)
_HALF = np.float32(0.5)
_TERM_3, _TERM_4, _TERM_5, _TERM_6, _TERM_7 = (
    np.float32(1.0 / math.factorial(n)) for n in range(3, 8)
)


@part
def exponentials(powers: Any, bits: Any, count: int) -> None:
    """Replace the first `count` numbers by e to their power, to about 7 digits; below 1e-30 by 0.

    Written so that the compiler turns every loop into vector code, which a call per number would
    prevent: the whole part of the power of 2 becomes an exponent, a polynomial does the rest.
    """
    one = np.float32(1.0)
    for j in range(count):
        power = powers[j]
        # Not min and max: NaN must stay NaN.
        if power > _LARGEST:  # noqa: PLR1730 (see above)
            power = _LARGEST
        if power < _SMALLEST:  # noqa: PLR1730 (see above)
            power = _SMALLEST
        whole = np.floor(power * _LOG2_E + _HALF)
        if not whole == whole:  # noqa: PLR0124, SIM201 (NaN, in a form that is vector code)
            whole = np.float32(0.0)
        rest = power - whole * _LN2_HIGH - whole * _LN2_LOW
        series = _TERM_7
        series = series * rest + _TERM_6
        series = series * rest + _TERM_5
        series = series * rest + _TERM_4
        series = series * rest + _TERM_3
        series = series * rest + _HALF
        series = series * rest + one
        powers[j] = series * rest + one
        exponent = (np.int32(whole) + np.int32(127)) << np.int32(23)
        bits[j] = np.int32(0) if power == _SMALLEST else exponent
    scale = bits.view(np.float32)
    for j in range(count):
        powers[j] *= scale[j]


_LIMIT = np.float32(7.90531110763549805)
"""Beyond it the hyperbolic tangent is 1 in float32."""
_A1, _A3, _A5, _A7, _A9, _A11, _A13 = (
    np.float32(factor)
    for factor in (
        4.89352455891786e-03,
        6.37261928875436e-04,
        1.48572235717979e-05,
        5.12229709037114e-08,
        -8.60467152213735e-11,
        2.00018790482477e-13,
        -2.76076847742355e-16,
    )
)
_B0, _B2, _B4, _B6 = (
    np.float32(factor)
    for factor in (
        4.89352518554385e-03,
        2.26843463243900e-03,
        1.18534705686654e-04,
        1.19825839466702e-06,
    )
)


@part
def tangents(values: Any, count: int) -> None:
    """Replace numbers by their hyperbolic tangent: a ratio of polynomials, in vector code."""
    for j in range(count):
        x = values[j]
        # Not min and max: NaN must stay NaN.
        if x > _LIMIT:  # noqa: PLR1730 (see above)
            x = _LIMIT
        if x < -_LIMIT:  # noqa: PLR1730 (see above)
            x = -_LIMIT
        s = x * x
        above = ((((((_A13 * s + _A11) * s + _A9) * s + _A7) * s + _A5) * s + _A3) * s + _A1) * x
        below = ((_B6 * s + _B4) * s + _B2) * s + _B0
        values[j] = above / below
