"""Two live processes, one of each revision, that take turns of some milliseconds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from wfbench.benchmarks.measure.live import TURN, Live, take_turns
from wfbench.benchmarks.measure.turns import Turn
from wfbench.benchmarks.revisions.model import Pair, Request, SideSample
from wfbench.contract import CollectError
from wfbench.host.manager import PluginSettings
from wfbench.processes.isolated import Isolated
from wfbench.processes.limits import ONE_THREAD
from wfbench.processes.usage import machine_times

_LEAST_BLOCKS = 3
_START = 420.0
"""Seconds until an opened collector must be there."""


@dataclass(frozen=True)
class Place:
    """How a revision is imported."""

    path: Path
    """The folder that its distribution is installed in."""
    plugins: PluginSettings = field(default_factory=PluginSettings)
    """Which plugins are loaded."""


class LiveSide(Live):
    """A process of one revision."""

    def __init__(self, place: Place) -> None:
        beside = os.environ.get("PYTHONPATH", "")
        paths = [str(place.path), *(beside.split(os.pathsep) if beside else [])]
        variables = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
        self._place = place
        self._started = monotonic()
        super().__init__(Isolated(Path(__file__).with_name("side.py"), ONE_THREAD | variables))

    def open(self, request: Request, seed: int, cores: Sequence[int]) -> tuple[float, str | None]:
        """Open the collector; return the seconds it took and the hash of its transitions."""
        asked = asked_for(request) | {
            "seed": seed,
            "cores": list(cores),
            "plugins": asdict(self._place.plugins),
            "started": self._started,
        }
        start_up, proof, workers = self.ask("open", asked, limit=_START)
        self.adopt(workers)
        return start_up, proof

    def labels(self, request: Request, distribution: str | None = None) -> list[str]:
        """Return what a collector is called, or those that a distribution offers for the case."""
        asked = asked_for(request) | {
            "distribution": distribution,
            "plugins": asdict(self._place.plugins),
        }
        return list(self.ask("known" if distribution is None else "offered", asked))


def asked_for(request: Request) -> dict[str, Any]:
    """Return a case as builtins, which any revision can unpickle."""
    return {
        "collectors": [request.collector],
        "env": request.env,
        "n_envs": request.n_envs,
        "policy": request.policy,
    }


def measure_pair(
    request: Request,
    planned: Pair,
    places: tuple[Place, Place],
    *,
    seconds: float,
    cores: Sequence[int],
) -> Pair:
    """Start a process of each revision and let them take turns for `seconds` each.

    Which one starts first alternates from round to round. `planned.steps` of 0 are replaced by
    what fits.
    """
    order = (0, 1) if planned.round % 2 == 0 else (1, 0)
    try:
        with ExitStack() as stack:
            started = {}
            for which in order:
                side = LiveSide(places[which])
                stack.callback(side.close)
                started[which] = side, side.open(request, planned.seed, cores)
            (old_side, old_open), (new_side, new_open) = started[0], started[1]
            sides = old_side, new_side
            steps = planned.steps or old_side.ask("fitting_steps")
            turns, foreign = _take_turns(sides, steps, seconds, cores, second=order[0] == 1)
            memory = [side.ask("memory") for side in sides]
            ends = [side.ask("end") for side in sides]
    except CollectError as error:
        return replace(planned, failure=str(error))
    marks = [mark for found in ends for mark in found]
    if marks:
        return replace(planned, failure=f"marked: {'; '.join(dict.fromkeys(marks))}")
    old, new = (
        SideSample(start_up, used, tuple(taken), proof)
        for (start_up, proof), used, taken in zip((old_open, new_open), memory, turns, strict=True)
    )
    return replace(planned, steps=steps, old=old, new=new, foreign_cores=foreign)


def _take_turns(
    sides: tuple[LiveSide, LiveSide],
    steps: int,
    seconds: float,
    cores: Sequence[int],
    *,
    second: bool,
) -> tuple[tuple[list[Turn], list[Turn]], float]:
    """Return the turns of both sides, and the cores that other programs used meanwhile."""
    ready = [partial(side.turn, cores, TURN, steps) for side in sides]
    for turn in ready:
        turn()
    began, machine = monotonic(), machine_times()
    turns = take_turns(ready, seconds, _LEAST_BLOCKS, second=second)
    own, now = sum(t.cpu for taken in turns for t in taken), machine_times()
    if machine is None or now is None:
        return turns, 0.0
    return turns, max(0.0, now.busy - machine.busy - own) / (monotonic() - began)
