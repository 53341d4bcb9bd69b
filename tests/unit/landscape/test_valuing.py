from __future__ import annotations

import math

import pytest

from wfbench.orders import NAMED_UNITS
from wfbench.search.landscape.records import Replicate, collect_landscape, valued_by

META = dict.fromkeys(("env", "trainer", "definition", "score", "budget", "command"), "x")
RUNS = [
    Replicate(0, -30.0, 0.97, 400_000, 1_000_000),
    Replicate(1, -20.0, 0.5, None, 1_000_000),
    Replicate(2, math.nan, 0.0, None, 60_000),
]


@pytest.mark.parametrize(
    ("value", "worth"),
    [("return", [-30.0, -20.0]), ("compliance", [97.0, 50.0]), ("steps", [-400.0, -1_000.0])],
)
def test_an_order_is_worth_what_was_asked_for_and_a_failure_stays_one(value, worth):
    landscape = collect_landscape([((0, 1, 2, 3, 4), run) for run in RUNS], NAMED_UNITS, META)
    assert valued_by(landscape, value).scores(0) == pytest.approx(worth)
    assert landscape.scores(0) == [-30.0, -20.0]
