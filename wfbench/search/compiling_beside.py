"""Compile what a training needs in a second process while this one compiles other things."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.contract import Counters, EnvInfo, Trainer, TrainerSetup, WorkflowModel
from wfbench.orders.compliance import Shaper
from wfbench.processes.children import Child, parent_channel
from wfbench.processes.limits import usable_cores
from wfbench.settings.selection import Choice

_UNITS = WorkflowModel(units=("A", "B"), hosts=("a", "b"), host_unit=(0, 1), fix_host=(-1, 0, 1))
_ENV = EnvInfo(obs_shape=(8,), obs_dtype="uint8", num_actions=3, workflow=_UNITS)
_ORDER = (0, 1)


@contextmanager
def compiled_beside(trainer: Choice) -> Iterator[None]:
    """Start the other process as soon as this one has to compile anything; end it at the end.

    Compiled code is kept on disk, and who wants what the other is compiling waits for it.
    """
    if usable_cores() == 1:
        yield
        return
    from numba.core import event  # half a second that only those who may compile spend

    started: list[Child] = []

    class Starter(event.Listener):
        def on_start(self, _event: Any) -> None:
            if not started:
                with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
                    # What goes wrong there goes wrong here, too, and is told here.
                    started.append(Child(__name__, {}, stderr=nowhere))
                    started[0].channel.send(trainer)

        def on_end(self, _event: Any) -> None:
            """Do nothing: the other process goes on."""

    try:
        with event.install_listener("numba:compile", Starter()):
            yield
    finally:
        for child in started:
            child.end()


def main(descriptor: str) -> None:
    """Compile for the trainer that the other process sends."""
    trainer: Choice = parent_channel(descriptor).recv()
    _practise(trainer.build(TrainerSetup(_ENV, seed=0, device="cpu", expected_updates=1)))


def _practise(trainer: Trainer) -> None:
    """Learn from made-up data, judge it, and act; the longest first, the first needed last."""
    trainer.start(_ORDER)
    buffer = RolloutBuffer(2, 2, _ENV)
    buffer.obs[:] = 0
    steps, nothing = np.zeros(2, dtype=np.int64), Counters(0.0, 0.0, 0.0, 0.0, 0.0)
    rollout = buffer.rollout(first_step=steps, policy_version=-1, counters=nothing)
    trainer.update(rollout, rollout.rewards)
    Shaper(_UNITS, _ORDER).shape(rollout)
    trainer.policy().act(buffer.obs[0], np.zeros(2))
