from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wfbench.orders import NAMED_UNITS, all_orders, precedences
from wfbench.search.landscape.records import Replicate, collect_landscape, write_landscape

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A landscape in which the first pair of units is worth 8 points."""
    rows = [
        (
            order,
            Replicate(seed, 4.0 * precedences(order)[0] + (index * 7 + seed * 3) % 5, 1.0, 5, 9),
        )
        for index, order in enumerate(all_orders())
        for seed in range(3)
    ]
    meta = {"env": "cage2", "trainer": "ppo", "definition": "effective@2"}
    meta |= {"score": "evaluate:20", "budget": "9", "command": "wfbench run"}
    path = tmp_path / "landscape.json"
    write_landscape(path, collect_landscape(rows, NAMED_UNITS, meta))
    return path


def test_searchers_are_compared_on_a_recorded_landscape(wfbench: Run, recorded: Path) -> None:
    done = wfbench(
        *("bench-search", "--landscape", str(recorded), "--searcher", "gp-ucb:beta=1"),
        *("--searcher", "random", "--searcher", "halving", "--seeds", "6", "--asks", "8"),
    )
    assert done.returncode == 0, done.stderr
    assert "360 runs of 120 orders: order sd" in done.stdout
    assert "intra-class correlation" in done.stdout
    assert "env cage2, trainer ppo, definition effective@2" in done.stdout
    for name in ("gp-ucb:beta=1.0 ", "random ", "halving "):
        assert f"\n{name}" in done.stdout
    assert "gp-ucb:beta=1.0 minus random after 8:" in done.stdout


def test_json_has_whole_curves_and_the_signal(wfbench: Run, recorded: Path) -> None:
    done = wfbench(
        *("bench-search", "--landscape", str(recorded), "--seeds", "4", "--asks", "5", "--json")
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/bench-search/1"
    assert answer["source"]["meta"]["trainer"] == "ppo"
    assert 0.5 < answer["signal"]["icc"] <= answer["signal"]["reliability"] <= 1
    assert [one["searcher"] for one in answer["searchers"]] == ["gp-ucb", "random"]
    for one in answer["searchers"]:
        assert len(one["recommended"]) == len(one["best_asked"]) == 5
        for interval in one["recommended"]:
            assert 0 <= interval["low"] <= interval["median"] <= interval["high"]


def test_a_synthetic_landscape_says_its_signal(wfbench: Run) -> None:
    arguments = ("bench-search", "--synthetic", "pairs", "--icc", "0.6", "--seeds", "3")
    first, again = (
        wfbench(*arguments, "--asks", "4", "--seed", "7", "--json").stdout for _ in range(2)
    )
    answer = json.loads(first)
    assert answer["source"] == {"synthetic": "pairs", "icc": 0.6}
    assert answer["signal"] is None
    repeated = json.loads(again)
    for one, other in zip(answer["searchers"], repeated["searchers"], strict=True):
        assert one["recommended"] == other["recommended"]
    shown = wfbench(*arguments, "--asks", "4")
    assert "intra-class correlation 0.60" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give either --landscape FILE or --synthetic"),
        (("--landscape", "none.json"), "cannot read none.json: No such file"),
        (("--landscape", "x", "--synthetic", "pairs"), "give either"),
        (("--landscape", "x", "--icc", "0.5"), "--icc belongs to --synthetic"),
        (("--synthetic", "pairs", "--icc", "0"), "icc is 0.0; it must be above 0"),
        (("--synthetic", "steps"), "Invalid value for '--synthetic'"),
        (("--synthetic", "pairs", "--searcher", "oracle"), "oracle"),
        (("--synthetic", "pairs", "--searcher", "gp-ucb:gamma=1"), "no option 'gamma'"),
        (("--synthetic", "pairs", "-o", "halving.eta=2"), "options are given for 'halving'"),
        (("--synthetic", "pairs", "--asks", "0"), "--asks"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_line(
    wfbench: Run, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    done = wfbench("bench-search", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


def test_orders_can_be_valued_by_how_soon_they_comply(wfbench: Run, recorded: Path) -> None:
    few = ("--searcher", "random", "--seeds", "2", "--asks", "3")
    done = wfbench("bench-search", "--landscape", str(recorded), "--value", "steps", *few)
    assert done.returncode == 0, done.stderr
    assert "order sd 0.00" in done.stdout
    assert "thousand environment steps to compliance" in done.stdout
    done = wfbench("bench-search", "--synthetic", "mallows", "--value", "steps", *few)
    assert done.returncode == 2
    assert "--value belongs to --landscape" in done.stderr
