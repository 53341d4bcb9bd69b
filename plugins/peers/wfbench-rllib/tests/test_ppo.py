"""It keeps a trainer's promises, and learns from the rewards it is given."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from wfbench import run
from wfbench.contract import EnvInfo, TrainerSetup
from wfbench.testing import check_trainer
from wfbench_rllib.options import PpoOptions
from wfbench_rllib.plugin import wfbench_trainers
from wfbench_rllib.ppo import RllibPpo

[SPEC] = wfbench_trainers()


def test_the_trainer_keeps_every_promise():
    promises = check_trainer(SPEC, {"epochs": 2})
    assert [promise for promise in promises if promise.kept is not True] == []
    assert len(promises) >= 10


def test_it_trains_a_search_and_its_return_rises(tmp_path):
    found = run(
        preset="per-order",
        trainer="rllib-ppo:lr=0.002,epochs=4,batch_size=512,value_clip=10000,hidden=64",
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


def test_global_random_state_is_left_as_it_was():
    def state():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002

    before = state()
    RllibPpo(TrainerSetup(EnvInfo((4,), "uint8", 3), seed=3)).start((0, 1))
    assert state() == before


@pytest.mark.parametrize(
    ("given", "message"),
    [({"lr": 0.0}, "lr is 0"), ({"hidden": 0}, "at least 1"), ({"gae": 1.5}, "at most 1")],
)
def test_bad_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        PpoOptions(**given)
