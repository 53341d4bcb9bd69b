"""Which episodes of a policy count, who may play where, and who is ranked above whom."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wfbench.contract import CollectError, Published, UsageError
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.orders.compliance import DEFAULT
from wfbench.search.board import BoardEntry, board_cells, published_entry, ranked, trained_against
from wfbench.search.evaluation import EvaluationCell
from wfbench.search.playing import Played, play, steps_to_play
from wfbench.search.subjects import Subject, find_subject, run_subjects
from wfbench.search.transfer import TransferCell, paired
from wfbench.settings.selection import select

KEPT = Path(__file__).parents[2] / "formats" / "data"
POLICY = KEPT / "search-ppo" / "policy.npz"
SYNTHETIC = "synthetic:obs_size=6,num_actions=5,episode_length=10"


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


@pytest.fixture(scope="module")
def subject(host: PluginHost) -> Subject:
    return find_subject(host, str(POLICY), KEPT, None, None)


def _play(host: PluginHost, subject: Subject, *, steps: int = 10, **asked: int) -> Played:
    [collector] = select(host, {"collector": ["sequential"]})["collector"]
    shapers = [subject.shaper(order, DEFAULT) for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0))]
    given = {"episodes": 7, "seed": 3, **asked}
    return play(subject.ref, collector, subject.policy, shapers, episode_steps=steps, **given)


def test_exactly_the_first_episodes_of_each_environment_count(
    host: PluginHost, subject: Subject
) -> None:
    few, all_at_once = _play(host, subject, n_envs=3), _play(host, subject)
    assert [rows.shape for rows in few.rows] == [all_at_once.rows[0].shape] * 2
    assert len(few.rows[0]) == 7
    assert few.env_steps == steps_to_play(7, 3, 10) == 90
    assert all_at_once.env_steps == steps_to_play(7, 1000, 10) == 70
    # Each env plays 2 episodes, and the first of them a third; the first ones are the same.
    assert np.array_equal(few.rows[0][:3, 0], all_at_once.rows[0][:3, 0])
    assert np.array_equal(few.rows[0][:, 0], few.rows[1][:, 0]), "orders judge, they do not act"
    again = _play(host, subject, n_envs=3)
    assert np.array_equal(few.rows[0], again.rows[0], equal_nan=True)
    assert not np.array_equal(few.rows[0], _play(host, subject, n_envs=3, seed=4).rows[0])


def test_at_most_32_environments_are_built_one_by_one(host: PluginHost, subject: Subject) -> None:
    scalar = replace(subject, env=find_subject(host, str(POLICY), KEPT, SYNTHETIC, None).env)
    assert scalar.ref.batched is None
    assert _play(host, scalar, episodes=33).env_steps == 2 * 32 * 10


def test_episodes_that_never_end_are_an_error(host: PluginHost, subject: Subject) -> None:
    with pytest.raises(CollectError, match="7 of 7 episodes did not end within 28 steps"):
        _play(host, subject, steps=1)


def test_a_policy_plays_only_where_it_fits(host: PluginHost, subject: Subject) -> None:
    there = find_subject(host, str(POLICY), KEPT, SYNTHETIC, None)
    assert there.env.spec.name == "synthetic"
    assert there.order == subject.order
    assert [one.name for one in run_subjects(host, KEPT / "search-ppo")] == [
        f"workflow {number}" for number in range(3)
    ]
    for other, named in (("obs_size=7,num_actions=5", "shape"), ("num_actions=6", "actions:")):
        with pytest.raises(UsageError, match=f"which has .*{named}.* it cannot play there"):
            find_subject(host, str(POLICY), KEPT, f"synthetic:{other}", None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "'nobody' is neither a policy file, nor a run, nor a reference of synthetic"),
        ("matrix", "holds several runs; name one of them"),
    ],
)
def test_who_cannot_play_is_told_why(host: PluginHost, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_subject(host, name, KEPT, "synthetic", None)


CELLS = (("B_line", 30), ("Meander", 50))


def test_a_board_ranks_by_the_sum_over_its_cells(subject: Subject) -> None:
    found = [
        Published(name, dict(zip(CELLS, returns, strict=True)), "there", knew_red=knew)
        for name, returns, knew in (("a", (-5.0, -4.0), None), ("b", (-1.0, -2.0), True))
    ]
    assert board_cells(found) == CELLS
    with pytest.raises(UsageError, match="nothing is published"):
        board_cells([])
    entries = [published_entry(one, CELLS) for one in found]
    entries.append(BoardEntry("c", "policy", (-2.0, -3.0), (0.3, 0.4), "no", "here"))
    first, second, third = ranked(entries)
    assert [(one.name, one.total) for one in (first, second, third)] == [
        ("b", -3.0),
        ("c", -5.0),
        ("a", -9.0),
    ]
    assert second.half_interval == pytest.approx(0.5)
    assert math.isnan(first.half_interval)
    assert (first.knew_red, third.knew_red) == ("yes", "not said")
    assert trained_against(subject, CELLS) == "no"
    known: Any = SimpleNamespace(env=SimpleNamespace(options={"red": "Meander"}))
    assert trained_against(known, CELLS) == "trained on Meander"
    unknowing = Published("d", found[0].returns, "there", knew_red=False)
    assert published_entry(unknowing, CELLS).knew_red == "no"


def _cell(value: float, half: float, red: str | None = None) -> EvaluationCell:
    return EvaluationCell(red, 30, 64, value, half, *(math.nan,) * 5, chance=None)


@pytest.mark.parametrize(("away", "agrees"), [(-13.0, True), (-13.1, False), (-7.0, True)])
def test_means_agree_within_three_standard_errors(away: float, *, agrees: bool) -> None:
    half = 1.96 / math.sqrt(2)  # a standard error of 1 for the difference
    [cell] = paired([_cell(-10.0, half)], [_cell(away, half)])
    assert isinstance(cell, TransferCell)
    assert cell.difference == pytest.approx(away + 10.0)
    assert cell.standard_error == pytest.approx(1.0)
    assert cell.agrees == agrees
