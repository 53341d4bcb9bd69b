from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wfbench.contract import NotComparableError
from wfbench.orders.compliance import find_definition
from wfbench.search.landscape.from_runs import command_of, landscape_of
from wfbench.search.landscape.records import read_landscape, write_landscape
from wfbench.store.config import read_config

Make = Callable[..., Any]
Begin = Callable[..., Any]
ENV = "synthetic-batch:obs_size=6,num_actions=5,episode_length=10"


@pytest.fixture
def finished(make_job: Make, begin: Begin) -> Callable[..., Path]:
    """The directory of a finished run."""

    def run(name: str, **settings: Any) -> Path:
        search = begin(make_job(**{"inherit": "none", **settings}), name)
        search.run()
        return search.store.path

    return run


def test_every_training_of_equal_terms_is_in_the_landscape(
    finished: Callable[..., Path], tmp_path: Path
) -> None:
    runs = [finished("a", seed=1), finished("b", seed=2, collector="sequential")]
    found = landscape_of(runs)
    trainings = [len(one) for one in found.replicates]
    assert sum(trainings) == 6
    assert max(trainings) == 2
    assert found.meta["definition"] == find_definition("effective").id
    assert found.meta["budget"] == 6 * 4 * 10
    write_landscape(tmp_path / "l.json", found)
    assert read_landscape(tmp_path / "l.json") == found


def test_unequal_terms_are_not_put_together(finished: Callable[..., Path]) -> None:
    one = finished("a")
    for name, settings in {"b": {"max_episodes": 5}, "c": {"trainer": "lab:collapse=true"}}.items():
        with pytest.raises(NotComparableError, match="must train in the same way"):
            landscape_of([one, finished(name, **settings)])


def test_an_order_that_began_with_anothers_policy_is_refused(
    finished: Callable[..., Path],
) -> None:
    run = finished("a", inherit="previous")
    with pytest.raises(NotComparableError, match="--inherit none"):
        landscape_of([run])
    assert sum(map(len, landscape_of([run], inherited=True).replicates)) == 3


def test_a_smoke_run_measures_nothing(finished: Callable[..., Path]) -> None:
    run = finished("a")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "smoke": True}))
    with pytest.raises(NotComparableError, match="smoke"):
        landscape_of([run])


def test_the_command_of_a_run_says_what_differs_from_the_defaults(
    finished: Callable[..., Path],
) -> None:
    run = finished("a", seed=3, threshold=0.9)
    words = shlex.split(command_of(read_config(run)))
    assert words[:2] == ["wfbench", "run"]
    given = dict(zip(words[2::2], words[3::2], strict=True))
    assert given["--env"] == ENV
    assert given["--trainer"] == "lab"
    assert given["--seed"] == "3"
    assert given["--threshold"] == "0.9"
    assert "--gamma" not in given
