"""A second process compiles for the trainer while this one compiles something else."""

from __future__ import annotations

from time import monotonic, sleep

import numpy as np
import psutil
import pytest
from numba import njit

from wfbench.contract import TrainerSpec
from wfbench.host.discovery import Source
from wfbench.host.manager import Offer
from wfbench.search import compiling_beside
from wfbench.settings.selection import Choice

_TRAINER = """
from pathlib import Path

from wfbench.policies.compiling import compiled


@compiled
def learn(rewards):
    return rewards.sum()


class Trainer:
    def __init__(self, setup):
        pass

    def start(self, order, inherit=None):
        pass

    def update(self, rollout, rewards):
        learn(rewards)
        Path(__file__).with_name("learned").touch()
        raise RuntimeError("whatever goes wrong here is told by the search itself")
"""


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    (tmp_path / "beside_trainer.py").write_text(_TRAINER)
    monkeypatch.syspath_prepend(str(tmp_path))
    spec = TrainerSpec(name="beside", summary="Learns", factory="beside_trainer:Trainer")
    return Choice(Offer(spec, Source("here", "", "", "")), spec)


def compile_something():
    assert njit(lambda x: x + 1)(1) == 2


def children():
    return [child for child in psutil.Process().children() if child.status() != "zombie"]


def test_the_trainer_learns_in_another_process_that_ends_with_the_block(trainer, tmp_path):
    import beside_trainer

    before = children()
    with compiling_beside.compiled_beside(trainer):
        assert children() == before
        compile_something()
        until = monotonic() + 60
        while not (tmp_path / "learned").exists() and monotonic() < until:
            sleep(0.05)
        beside_trainer.learn(np.zeros((2, 2), np.float32))
        assert sum(beside_trainer.learn.stats.cache_hits.values()) == 1
    assert children() == before


def test_nothing_is_started_where_nothing_is_compiled_or_only_one_core_works(trainer, monkeypatch):
    before = children()
    with compiling_beside.compiled_beside(trainer):
        assert children() == before
    monkeypatch.setattr(compiling_beside, "usable_cores", lambda: 1)
    with compiling_beside.compiled_beside(trainer):
        compile_something()
        assert children() == before
