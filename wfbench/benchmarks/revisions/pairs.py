"""Two live processes, one of each revision, that take turns of some milliseconds.

The speed of a machine drifts over tenths of a second, so both sides meet the same machine. The side
that rests is stopped with all of its workers: what spins or runs freely would disturb the other.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import shuffle
from time import monotonic
from typing import Any

from wfbench.benchmarks.revisions.model import Pair, Request, SideSample, Turn
from wfbench.contract import CollectError
from wfbench.host.manager import PluginSettings
from wfbench.processes.isolated import Isolated, IsolationError
from wfbench.processes.limits import ONE_THREAD
from wfbench.processes.usage import machine_times

TURN = 0.02
"""Seconds of a turn; it ends with the collect in which they are over."""
_LEAST_BLOCKS = 3
_START, _ANSWER = 420.0, 180.0
"""Seconds until an opened collector, or any other answer, must be there."""


@dataclass(frozen=True)
class Place:
    """How a revision is imported."""

    path: Path
    """The folder that its distribution is installed in."""
    plugins: PluginSettings = field(default_factory=PluginSettings)
    """Which plugins are loaded."""


class LiveSide:
    """A process of one revision, stopped with all of its workers unless it is asked something."""

    def __init__(self, place: Place) -> None:
        beside = os.environ.get("PYTHONPATH", "")
        paths = [str(place.path), *(beside.split(os.pathsep) if beside else [])]
        variables = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
        self._place = place
        self._started = monotonic()
        self._process = Isolated(Path(__file__).with_name("side.py"), ONE_THREAD | variables)
        self._members = [self._process.pid]

    def ask(self, *question: Any, limit: float = _ANSWER) -> Any:
        """Return the answer; raise CollectError if there is none or it is an error."""
        self._signal(signal.SIGCONT)
        try:
            problem, answer = self._process.ask(question, limit)
        except IsolationError as error:
            raise CollectError(str(error)) from error
        self._signal(signal.SIGSTOP)
        if problem is not None:
            raise CollectError(f"{problem}: {answer or 'no message'}")
        return answer

    def open(self, request: Request, seed: int, cores: Sequence[int]) -> tuple[float, str | None]:
        """Open the collector; return the seconds it took and the hash of its transitions."""
        asked = asked_for(request) | {
            "seed": seed,
            "cores": list(cores),
            "plugins": asdict(self._place.plugins),
            "started": self._started,
        }
        start_up, proof, workers = self.ask("open", asked, limit=_START)
        self._members += workers
        self._signal(signal.SIGSTOP)
        return start_up, proof

    def labels(self, request: Request, distribution: str | None = None) -> list[str]:
        """Return what a collector is called, or those that a distribution offers for the case."""
        asked = asked_for(request) | {
            "distribution": distribution,
            "plugins": asdict(self._place.plugins),
        }
        return list(self.ask("known" if distribution is None else "offered", asked))

    def turn(self, steps: int, cores: Sequence[int]) -> Turn:
        """Collect for the time of a turn, beginning with its threads dealt over the cores anew.

        Where the system puts the threads of a process decides its speed, and it leaves them there
        for seconds: without new luck in every turn, the luck of a process would look like a change.
        """
        threads = [int(one.name) for pid in self._members for one in _threads(pid)]
        shuffle(threads)
        for place, thread in enumerate(threads):
            _move(thread, {cores[place % len(cores)]})
        self._signal(signal.SIGCONT)
        for thread in threads:
            _move(thread, cores)
        return Turn(*self.ask("turn", TURN, steps))

    def close(self) -> None:
        """End the process and everything it started."""
        self._signal(signal.SIGCONT)
        self._process.close()

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._members:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _threads(pid: int) -> list[Path]:
    with suppress(FileNotFoundError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def _move(thread: int, cores: Iterable[int]) -> None:
    with suppress(ProcessLookupError):
        os.sched_setaffinity(thread, cores)


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
            blocks = (*order, *order[::-1])
            turns, foreign = _take_turns(sides, steps, seconds, blocks, cores)
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
    order: Sequence[int],
    cores: Sequence[int],
) -> tuple[tuple[list[Turn], list[Turn]], float]:
    """Return the turns of both sides, and the cores that other programs used meanwhile."""
    turns: tuple[list[Turn], list[Turn]] = ([], [])
    for side in sides:
        side.turn(steps, cores)
    began, machine = monotonic(), machine_times()
    while len(turns[0]) < 2 * _LEAST_BLOCKS or sum(t.wall for t in turns[0]) < seconds:
        for which in order:
            turns[which].append(sides[which].turn(steps, cores))
    own, now = sum(t.cpu for taken in turns for t in taken), machine_times()
    if machine is None or now is None:
        return turns, 0.0
    return turns, max(0.0, now.busy - machine.busy - own) / (monotonic() - began)
