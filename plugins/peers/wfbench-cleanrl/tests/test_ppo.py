"""It keeps a trainer's promises, and learns what the reference loop is documented to learn."""

from __future__ import annotations

import numpy as np
import pytest

from wfbench import run
from wfbench.testing import check_trainer
from wfbench_cleanrl.options import PpoOptions
from wfbench_cleanrl.plugin import wfbench_trainers

[SPEC] = wfbench_trainers()


def test_the_trainer_keeps_every_promise():
    promises = check_trainer(SPEC)
    assert [promise for promise in promises if promise.kept is not True] == []
    assert len(promises) >= 10


def test_it_trains_a_search_and_its_return_rises(tmp_path):
    found = run(
        preset="per-order",
        trainer="cleanrl-ppo:lr=0.002,anneal=false",
        collector="vector",
        n_envs=50,
        searcher="given:orders=SEUHD",
        workflows=1,
        max_episodes=15,
        min_episodes=15,
        stop="budget",
        out=tmp_path,
    )
    returns = [float(update["return"]) for update in found.updates()]
    assert len(returns) == 15
    assert np.mean(returns[-3:]) > np.mean(returns[:3]) + 50


@pytest.mark.parametrize(
    ("given", "message"),
    [({"lr": 0.0}, "lr is 0"), ({"minibatches": 0}, "at least 1"), ({"gae": 1.5}, "at most 1")],
)
def test_bad_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        PpoOptions(**given)
