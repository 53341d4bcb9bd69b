"""How noisy this machine is: each case against itself, judged as a check would judge it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from wfbench.benchmarks.gate.baseline_store import LEAST_ROUNDS
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.runner import SessionProgress, run_session
from wfbench.benchmarks.statistics.intervals import (
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.verdicts import MINIMUM_EFFECT, Verdict, judge
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.event_log import plain
from wfbench.store.files import read_record, write_json, writing
from wfbench.store.machine import fingerprint

SCHEMA = "calibration/1"
DEFAULT = Path("results") / "calibration.json"

_COMPARISONS = 30
"""Maximum number of pairs of windows to judge; more would only repeat each other."""
_POWER = 0.8
_TRIED = [3 * step / 256 for step in range(1, 257)]
"""Slow-downs, up to a fourfold duration."""
_Windows = tuple[Sequence[float], Sequence[float]]
"""The logs of two windows of rounds, as if one were then and one now."""


@dataclass(frozen=True)
class Noise:
    """The result of comparing a case with itself."""

    label: str
    n_envs: int
    log_ratios: tuple[float, ...]
    """One copy's rate over the other's, round by round."""
    comparisons: int
    """Pairs of windows that do not overlap, each judged as if one were then and one now."""
    spread: float
    """95 % of the comparisons find a smaller change than this, though there is none."""
    false_alarms: float
    """The share of comparisons with a verdict, at the minimum effect below."""
    detectable: float | None
    """The smallest slow-down that 80 % of the comparisons find; None if not even a fourfold one."""


@dataclass(frozen=True)
class Calibration:
    """Which changes this machine's noise hides."""

    created: str
    machine: Mapping[str, Any]
    settings: Settings
    window: int
    """Rounds of one check."""
    minimum_effect: float
    """A smaller change may be noise here; `check` ignores it."""
    cases: tuple[Noise, ...]

    @property
    def false_alarms(self) -> float:
        """The share of comparisons that found a change where there is none."""
        return sum(one.false_alarms for one in self.cases) / len(self.cases)

    @property
    def detectable(self) -> float | None:
        """The smallest slow-down that is found in every case; None if there is none."""
        found = [one.detectable for one in self.cases]
        return None if None in found else max(one for one in found if one is not None)


def calibrate(
    cases: Sequence[Case], settings: Settings, window: int, progress: SessionProgress | None = None
) -> Calibration:
    """Measure each case against itself and return how noisy this machine is.

    `window` is the number of rounds of one check; the settings must have at least twice as many.
    """
    _require_window(settings.rounds, window)
    session = run_session([case for case in cases for _ in range(2)], settings, progress)
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    return calibration_of(session, window, created=created, machine=fingerprint())


def calibration_of(
    session: Session, window: int, *, created: str, machine: Mapping[str, Any]
) -> Calibration:
    """Return what a session with every case twice in a row says about checks of `window` rounds."""
    _require_window(session.settings.rounds, window)
    logs = [_log_ratios(session, i) for i in range(0, len(session.cases), 2)]
    effect = max([MINIMUM_EFFECT, *(_spread(one, window) for one in logs)])
    noises = tuple(_noise(session.cases[2 * i], one, window, effect) for i, one in enumerate(logs))
    return Calibration(created, dict(machine), session.settings, window, effect, noises)


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration; it replaces an older one."""
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, SCHEMA, plain(asdict(calibration)))


def read_calibration(path: Path) -> Calibration | None:
    """Read a calibration; None if there is no such file."""
    return read_record(path, SCHEMA, Calibration) if path.exists() else None


def _require_window(rounds: int, window: int) -> None:
    """Raise UsageError unless two windows of enough rounds fit into the rounds."""
    if window < LEAST_ROUNDS or rounds < 2 * window:
        raise UsageError(
            f"{rounds} rounds, windows of {window}: a window has at least {LEAST_ROUNDS} rounds, "
            "and two of them must fit"
        )


def _log_ratios(session: Session, first: int) -> list[float]:
    case = session.cases[first]
    others = {sample.round: sample for sample in session.of_case(first + 1)}
    found = []
    for sample in session.of_case(first):
        for one in (sample, others[sample.round]):
            if not one.clean:
                raise NotComparableError(
                    f"round {one.round + 1} of {case.label} cannot be used: {one.problem}; "
                    "calibrate again"
                )
        found.append(math.log(sample.rate / others[sample.round].rate))
    return found


def _verdict(windows: _Windows, effect: float, slowdown: float = 0.0) -> Verdict:
    """Return the verdict on two windows if now were slower by `slowdown`."""
    then, now = windows[0], [x - math.log1p(slowdown) for x in windows[1]]
    change, test = unpaired_ratio_estimate(now, then), unpaired_permutation_test(now, then)
    return judge(change, test, minimum_effect=effect)


def _noise(case: Case, logs: Sequence[float], window: int, effect: float) -> Noise:
    found = _comparisons(logs, window)
    alarms = sum(_verdict(one, effect) in {Verdict.REGRESSED, Verdict.IMPROVED} for one in found)
    return Noise(
        label=case.label,
        n_envs=case.n_envs,
        log_ratios=tuple(logs),
        comparisons=len(found),
        spread=_spread(logs, window),
        false_alarms=alarms / len(found),
        detectable=_detectable(found, effect),
    )


def _comparisons(logs: Sequence[float], window: int) -> list[_Windows]:
    """Return pairs of windows of consecutive rounds, so that slow drifts show."""
    starts = range(len(logs) - window + 1)
    apart = [(a, b) for a, b in combinations(starts, 2) if b - a >= window]
    step = max(1, len(apart) // _COMPARISONS)
    return [(logs[a : a + window], logs[b : b + window]) for a, b in apart[::step]]


def _spread(logs: Sequence[float], window: int) -> float:
    apart = [abs(fmean(now) - fmean(then)) for then, now in _comparisons(logs, window)]
    return float(np.expm1(np.quantile(apart, 0.95)))


def _detectable(comparisons: Sequence[_Windows], effect: float) -> float | None:
    """Search by bisection: the larger a slow-down, the more comparisons find it."""

    def found(slowdown: float) -> bool:
        hits = sum(_verdict(one, effect, slowdown) is Verdict.REGRESSED for one in comparisons)
        return hits >= _POWER * len(comparisons)

    place = bisect_left(_TRIED, 1, key=found)  # 1: it is found
    return max(_TRIED[place], effect) if place < len(_TRIED) else None
