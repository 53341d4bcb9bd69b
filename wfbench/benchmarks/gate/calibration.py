"""How noisy this machine is: the same code in several checks, judged as a check would."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from wfbench.benchmarks.gate.baseline_store import LEAST_ROUNDS, cells_of, unusable_samples
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.runner import SessionProgress, run_session
from wfbench.benchmarks.statistics.intervals import (
    Estimate,
    exp_estimate,
    unpaired_difference_estimate,
    unpaired_permutation_test,
)
from wfbench.benchmarks.statistics.verdicts import MINIMUM_EFFECT, Verdict, judge
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.event_log import plain
from wfbench.store.files import read_record, write_json, writing
from wfbench.store.machine import fingerprint

SCHEMA = "calibration/1"
DEFAULT = Path("results") / "calibration.json"

_COMPARISONS = 30
"""Maximum number of sets of windows to judge; more would only repeat each other."""
_DRAWN = 100
"""Sets of windows drawn at random, which tell a share of four in five to within 4 points."""
_POWER = 0.8
_SEED = 20_260_117
_TRIED = [3 * step / 256 for step in range(1, 257)]
"""Slow-downs, up to a fourfold duration."""
_LOOKS = 3
"""Windows of one comparison: the baseline, the check, and the measurement that confirms it."""
_Windows = tuple[Sequence[float], ...]
"""The log ratios of three windows of rounds: then, now, and measured again."""


@dataclass(frozen=True)
class Noise:
    """How far the ratio of a case to the reference moves though nothing changes."""

    label: str
    n_envs: int
    log_ratios: tuple[float, ...]
    """Its rate over the reference's, round by round."""
    comparisons: int
    """Sets of windows that do not overlap, each judged as a baseline and its check."""
    spread: float
    """95 % of the comparisons find a smaller change than this, though there is none."""
    false_alarms: float
    """The share of comparisons that fail, at the minimum effect below."""
    detectable: float | None
    """The smallest slow-down that 80 % of the comparisons fail for; None if there is none."""


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
        """The share of comparisons that failed though nothing had changed."""
        return sum(one.false_alarms for one in self.cases) / len(self.cases)

    @property
    def detectable(self) -> float | None:
        """The smallest slow-down that is found in every case; None if there is none."""
        found = [one.detectable for one in self.cases]
        return None if None in found else max(one for one in found if one is not None)


def calibrate(
    cases: Sequence[Case], settings: Settings, window: int, progress: SessionProgress | None = None
) -> Calibration:
    """Measure each case against the first, as a check does, and return how noisy this machine is.

    `window` is the number of rounds of one check; the settings must have three times as many.
    """
    _require_window(settings.rounds, window)
    if len(cases) < 2:
        raise UsageError("a ratio needs a second case to calibrate; name two collectors or more")
    session = run_session(cases, settings, progress)
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    return calibration_of(session, window, created=created, machine=fingerprint())


def calibration_of(
    session: Session, window: int, *, created: str, machine: Mapping[str, Any]
) -> Calibration:
    """Return what a session of unchanged cases says about checks of `window` rounds."""
    _require_window(session.settings.rounds, window)
    for flaw in unusable_samples(session):
        raise NotComparableError(f"{flaw}; calibrate again")
    cells = cells_of(session, session.cases[0].label)[1:]
    effect = max([MINIMUM_EFFECT, *(_spread(cell.log_ratios, window) for cell in cells)])
    noises = tuple(_noise(cell.case, cell.log_ratios, window, effect) for cell in cells)
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
    """Raise UsageError unless three windows of enough rounds fit into the rounds."""
    if window < LEAST_ROUNDS or rounds < _LOOKS * window:
        raise UsageError(
            f"{rounds} rounds, windows of {window}: a window has at least {LEAST_ROUNDS} rounds, "
            "and three of them must fit"
        )


def _fails(windows: _Windows, effect: float, slowdown: float = 0.0) -> bool:
    """Return whether a check fails, by both its looks, if now is slower by `slowdown`."""
    then, *looks = windows
    slower = math.log1p(slowdown)
    for look in looks:
        change = _change(tuple(look), tuple(then), slower)
        test = unpaired_permutation_test([x - slower for x in look], then)
        if judge(change, test, minimum_effect=effect) is not Verdict.REGRESSED:
            return False
    return True


def _change(now: tuple[float, ...], then: tuple[float, ...], slower: float) -> Estimate:
    """Return the ratio of now to then, if now is slower by so much (in logs)."""
    logs = _difference(now, then)
    low, high = (None if end is None else end - slower for end in (logs.low, logs.high))
    return exp_estimate(Estimate(logs.value - slower, low, high))


@lru_cache(maxsize=2 * _DRAWN)
def _difference(now: tuple[float, ...], then: tuple[float, ...]) -> Estimate:
    """Return the difference in logs; kept, as a slow-down only moves it, and many are tried."""
    return unpaired_difference_estimate(now, then)


def _noise(case: Case, logs: Sequence[float], window: int, effect: float) -> Noise:
    found = _comparisons(logs, window, _LOOKS)
    alarms = sum(_fails(one, effect) for one in found)
    return Noise(
        label=case.label,
        n_envs=case.n_envs,
        log_ratios=tuple(logs),
        comparisons=len(found),
        spread=_spread(logs, window),
        false_alarms=alarms / len(found),
        detectable=_detectable(_mixed(logs, window), effect),
    )


def _comparisons(logs: Sequence[float], window: int, looks: int) -> list[_Windows]:
    """Return sets of windows of consecutive rounds, so that slow drifts show."""
    spare = len(logs) - looks * window
    grid = range(0, spare + 1, max(1, spare // _COMPARISONS))
    gaps = list(combinations_with_replacement(grid, looks))
    step = max(1, len(gaps) // _COMPARISONS)
    starts = [[gap + look * window for look, gap in enumerate(one)] for one in gaps[::step]]
    return [tuple(logs[start : start + window] for start in one) for one in starts]


def _mixed(logs: Sequence[float], window: int) -> list[_Windows]:
    """Return sets of windows of rounds drawn at random.

    Consecutive windows of one session are too few to tell a share of four in five.
    """
    rng = np.random.default_rng(_SEED)
    drawn = (rng.permutation(np.asarray(logs))[: _LOOKS * window] for _ in range(_DRAWN))
    return [tuple(one.reshape(_LOOKS, window).tolist()) for one in drawn]


def _spread(logs: Sequence[float], window: int) -> float:
    apart = [abs(fmean(now) - fmean(then)) for then, now in _comparisons(logs, window, 2)]
    return float(np.expm1(np.quantile(apart, 0.95)))


def _detectable(comparisons: Sequence[_Windows], effect: float) -> float | None:
    """Search by bisection: the larger a slow-down, the more comparisons find it."""

    def found(slowdown: float) -> bool:
        hits = sum(_fails(one, effect, slowdown) for one in comparisons)
        return hits >= _POWER * len(comparisons)

    place = bisect_left(_TRIED, 1, key=found)  # 1: it is found
    return max(_TRIED[place], effect) if place < len(_TRIED) else None
