"""The promises are kept, but for those that the library cannot keep and that are declared."""

from __future__ import annotations

from wfbench.testing import CollectorConformance, check_trainer
from wfbench_sb3.plugin import wfbench_trainers

[PPO] = wfbench_trainers()


class TestDummy(CollectorConformance):
    collector = "sb3-dummy"


class TestSubproc(CollectorConformance):
    collector = "sb3-subproc"
    patience = 45.0


def test_the_trainer_keeps_every_promise():
    promises = check_trainer(PPO)
    assert [promise for promise in promises if promise.kept is not True] == []
    assert len(promises) >= 10
