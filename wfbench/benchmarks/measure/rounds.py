"""Measure the cases of a round beside the first of them: two live processes that take turns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

import psutil

from wfbench.benchmarks.measure.live import TURN, Live, take_turns
from wfbench.benchmarks.measure.model import Case, Sample, Settings
from wfbench.benchmarks.measure.trial import DEADLINES
from wfbench.benchmarks.measure.turns import Turn
from wfbench.contract import CollectError, ship_local
from wfbench.processes import usage
from wfbench.processes.isolated import Isolated
from wfbench.processes.limits import ONE_THREAD

_LEAST_TURNS = 4
"""Turns that must fit into a window; else a collect is too long to take turns with."""
_SLOW = 5.0
"""Seconds of a first collect after which it is not tried how long the next one takes."""
_SLACK = 120.0
"""Seconds that an answer may take beyond its turn and its deadlines."""
_TRIAL = "wfbench.benchmarks.measure.trial"


def measure_group(
    planned: Sequence[Sample], cases: Sequence[Case], settings: Settings
) -> Iterator[Sample]:
    """Yield a sample of each planned one; the first, which the others take turns with, comes last.

    A case has its window alone if it cannot take turns: nothing to compare with, too slow, or too
    little memory for two.
    """
    with closing(Attempt(planned[0], cases, settings)) as first:
        for one in planned[1:]:
            together = first.fits_twice()
            if not together and not first.sampled:
                yield first.sample()
            with closing(Attempt(one, cases, settings)) as other:
                if together:
                    _alternate(first, other, settings.seconds)
                yield other.sample()
        if not first.sampled:
            yield first.sample()


class Attempt:
    """A sample that is being taken, whatever happens to it."""

    def __init__(self, planned: Sample, cases: Sequence[Case], settings: Settings) -> None:
        self._planned, self._seconds = planned, settings.seconds
        self._foreign: float | None = 0.0
        self._turns: tuple[Turn, ...] = ()
        self._beside: tuple[Turn, ...] = ()
        self._collected = False
        self.sampled = False
        self.failure: str | None = None
        self.trial = Live(Isolated(_TRIAL, ONE_THREAD))
        try:
            self._warm_up = self._tried(self._open, cases[planned.case], settings)
        except BaseException:
            self.trial.close()
            raise

    def _open(self, case: Case, settings: Settings) -> float:
        """Open the collector and let it collect once; return the seconds of that collect."""
        asked = case, self._planned.seed, settings, self._planned.round
        limit = DEADLINES.start + DEADLINES.step + _SLACK
        warm_up, workers = self.trial.ask("open", ship_local(case.factory), *asked, limit=limit)
        self.trial.adopt(workers)
        return float(warm_up)

    def fits_twice(self) -> bool:
        """Return whether another process may live beside this one, and turns be taken."""
        if self.sampled or self.failure is not None or not hasattr(os, "sched_setaffinity"):
            return False
        return psutil.virtual_memory().available > 2 * usage.memory_bytes(self.processes())

    def processes(self) -> list[psutil.Process]:
        """Return the process and its workers, those that live."""
        return [psutil.Process(pid) for pid in self.trial.members if psutil.pid_exists(pid)]

    def collect_seconds(self) -> float:
        """Return how long a collect takes; infinite if that is too long to take turns."""
        if self.failure is not None or self._warm_up > _SLOW:
            return float("inf")
        took = self._tried(self.trial.ask, "settle", limit=DEADLINES.step + _SLACK)
        return took if took and took * _LEAST_TURNS <= self._seconds else float("inf")

    def turn(self, seconds: float, cores: Sequence[int]) -> Turn:
        """Take a turn after an untimed collect; raise CollectError if it fails."""
        limit = seconds + 2 * DEADLINES.step + _SLACK
        try:
            return self.trial.turn(cores, seconds, limit=limit)
        except CollectError as error:
            self.failure = str(error)
            raise

    def keep(
        self, turns: Sequence[Turn], foreign: float | None, beside: Sequence[Turn] = ()
    ) -> None:
        """Count turns, taken `beside` those of the first case, and the cores that others used."""
        self._collected = True
        self._turns, self._beside = tuple(turns), tuple(beside)
        if foreign is None or self._foreign is None:
            self._foreign = None
        else:
            self._foreign += foreign * sum(turn.wall for turn in turns)

    def sample(self) -> Sample:
        """Return the sample, measured alone if no turns were taken, and end the process."""
        self.sampled = True
        if self.failure is None and not self._collected:
            meanwhile = _Meanwhile([self])
            limit = self._seconds + DEADLINES.step + _SLACK
            found = self._tried(self.trial.ask, "window", self._seconds, limit=limit)
            if found:
                self.keep([Turn(*found)], meanwhile.foreign_cores())
        measured = self._tried(self.trial.ask, "end", 1 if self._beside else 0)
        self.close()
        if self.failure is not None:
            return replace(self._planned, failure=self.failure)
        measured = replace(measured, foreign_cpu=self._foreign)
        if self._beside:
            measured = replace(measured, turns=self._turns, beside=self._beside)
        return replace(self._planned, measurement=measured)

    def close(self) -> None:
        """End the process; safe to call twice."""
        self.trial.close()

    def _tried(self, ask: Callable[..., Any], *question: Any, **more: Any) -> Any:
        """Return an answer; None if it failed, now or before."""
        if self.failure is None:
            try:
                return ask(*question, **more)
            except CollectError as error:
                self.failure = str(error)
        return None


class _Meanwhile:
    """What other programs do while some attempts are measured."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        own = [psutil.Process(), *(one for attempt in attempts for one in attempt.processes())]
        self._before = usage.snapshot(own)

    def foreign_cores(self) -> float | None:
        """Return how many cores they took, if that is known."""
        foreign = usage.used_since(self._before).foreign_cpu
        return None if foreign is None else foreign / (monotonic() - self._before.at)


def _alternate(first: Attempt, other: Attempt, seconds: float) -> None:
    """Let two cases take turns, equally long ones, if both collect quickly enough."""
    longest = max(first.collect_seconds(), other.collect_seconds())
    if longest == float("inf"):
        return
    cores = sorted(os.sched_getaffinity(0))
    ready = [partial(one.turn, max(TURN, longest), cores) for one in (first, other)]
    meanwhile = _Meanwhile([first, other])
    with suppress(CollectError):  # the one that failed says so in its sample
        theirs, mine = take_turns(ready, seconds)
        foreign = meanwhile.foreign_cores()
        first.keep(theirs, foreign)
        other.keep(mine, foreign, beside=theirs)
