"""Compliance as right choices over choices, and what says that it was not tested."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.orders.compliance import DEFAULT, MIN_CHOICES, Episodes, find_definition
from wfbench.report.sections.joint import orders_data
from wfbench.search.answer import find_answer, share_interval
from wfbench.search.episodes import EpisodeWindow, rows_of, summarise
from wfbench.search.history import read_search
from wfbench.store.sweeps import Sweep

Counts = st.lists(st.tuples(st.integers(0, 40), st.floats(0, 1)), min_size=1, max_size=30)


def episodes(right: Any, counted: Any) -> Episodes:
    """Episodes with these choices; everything else is of no interest."""
    size, other = len(counted), np.zeros(len(counted))
    whole = np.zeros(size, dtype=np.int64)
    return Episodes(
        env_id=np.arange(size) % 3,
        order=whole,
        env_return=np.linspace(-9.0, 9.0, size),
        alignment=other,
        compliance=np.full(size, 0.5),
        secondary=other,
        fixes=np.array(counted),
        counted=np.array(counted),
        right=np.array(right),
        wasted=whole,
        length=whole + 1,
    )


def test_choices_are_the_default_definition_and_the_only_pooled_one() -> None:
    assert find_definition(DEFAULT).id == "choices@1"
    assert find_definition(DEFAULT).pooled
    assert not find_definition("effective@2").pooled


@given(Counts)
def test_the_share_is_pooled_and_few_choices_are_untested(counts: list[tuple[int, float]]) -> None:
    counted = [count for count, _ in counts]
    right = [round(count * share) for count, share in counts]
    found = summarise(rows_of(episodes(right, counted)), pooled=True)
    if sum(counted) < MIN_CHOICES:
        assert math.isnan(found.compliance)
    else:
        assert found.compliance == pytest.approx(sum(right) / sum(counted))
    assert found.counted == pytest.approx(sum(counted) / len(counted))
    assert summarise(rows_of(episodes(right, counted)), pooled=False).compliance == 0.5


@pytest.mark.parametrize(
    ("right", "counted", "compliance"),
    [
        ([49], [49], math.nan),
        ([50], [50], 1.0),
        ([0, 49], [1, 49], 0.98),
        ([10, 0, 0], [10, 0, 0], math.nan),
        ([100, 0], [100, 100], 0.5),
    ],
)
def test_the_least_number_of_choices_is_exact(
    right: list[int], counted: list[int], compliance: float
) -> None:
    found = summarise(rows_of(episodes(right, counted)), pooled=True).compliance
    assert found == pytest.approx(compliance, nan_ok=True)


def test_a_window_pools_the_last_episodes_of_every_env() -> None:
    window = EpisodeWindow(3, 2, pooled=True)
    window.add(episodes([0] * 3, [100] * 3))
    assert window.last(2).compliance == 0.0
    window.add(episodes([30] * 6, [30] * 6))
    assert window.last(2).compliance == 1.0
    assert window.last(1).counted == 30
    assert math.isnan(EpisodeWindow(3, 2, pooled=True).last(2).compliance)


def sweep(right: int, counted: int, orders: Any = ((0, 1), (1, 0))) -> Sweep:
    shape = (len(orders), 10)
    returns = np.random.default_rng(3).normal(size=shape)
    made = np.full(shape, counted), np.full(shape, right)
    return Sweep(orders, returns, *made, np.zeros((len(orders), 4, 2), np.int64))


@pytest.mark.parametrize(
    ("right", "counted", "status"),
    [(4, 4, "untested"), (5, 5, "followed"), (0, 0, "untested"), (9, 10, "not followed")],
)
def test_the_answer_names_orders_that_were_not_tested(
    right: int, counted: int, status: str
) -> None:
    answer = find_answer([sweep(right, counted)])
    assert {one.status for one in answer.orders} == {status}
    assert answer.choices.per_episode == counted
    row = orders_data({"normal": sweep(right, counted)}, ("a", "b"), 0)["orders"][0]
    assert row["status"] == status
    assert row["choices_per_episode"] == counted
    assert row["right"] == (right / counted if counted else None)


@given(Counts)
def test_an_interval_holds_its_share(counts: list[tuple[int, float]]) -> None:
    counted = np.array([count for count, _ in counts])
    right = np.array([round(count * part) for count, part in counts])
    share, low, high = share_interval(right, counted)
    assert 0 <= low <= high <= 1
    assert (share is None) == (counted.sum() == 0)
    if share is not None:
        assert low <= share <= high


def test_events_and_tables_of_a_run_show_choices(
    make_joint: Callable[..., Any], begin: Callable[..., Any], tmp_path: Path
) -> None:
    begin(make_joint(stress=0)).run()
    run = tmp_path / "r"
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    finished = [line for line in lines if line["event"] == "workflow-finished"]
    with (run / "workflows.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [one["definition"] for one in finished] == ["choices@1"] * 4
    for event, row in zip(finished, table, strict=True):
        assert float(row["counted"]) == pytest.approx(event["counted"])
        assert (row["compliance"] == "") == (event["compliance"] is None)
        choices = event["counted"] * event["score_episodes"]
        assert (event["compliance"] is None) == (choices < MIN_CHOICES)
        assert not (event["compliant"] and event["compliance"] is None)
    assert finished[0]["compliance"] is not None  # 240 episodes over all orders
    assert finished[-1]["compliance"] is None  # 2 episodes of one order
    assert any("untested" in said for said in finished[0]["says"])
    last = read_search(run).finished()[-1]
    assert math.isnan(last.compliance)
    assert last.status == "budget"
