"""How noisy this machine is: the same case against itself, judged as a check would judge it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from wfbench.contract import NotComparableError, UsageError
from wfbench.store.decoding import decode
from wfbench.store.event_log import plain
from wfbench.store.files import read_json, write_json, writing

from .model import Case, Session, Settings
from .statistics import Estimate, unpaired_permutation_test, unpaired_ratio_estimate
from .verdicts import ALPHA, MINIMUM_EFFECT, Verdict, judge

SCHEMA = "calibration/1"
DEFAULT = Path("results") / "calibration.json"

_COMPARISONS = 30
"""At most so many pairs of windows are judged; more would only repeat each other."""
_POWER = 0.8
_LARGEST = 4.0
"""A slow-down this many times over that is still not found is not looked for any further."""


@dataclass(frozen=True)
class Noise:
    """What comparing a case with itself came to."""

    label: str
    n_envs: int
    log_ratios: tuple[float, ...]
    """One copy's rate over the other's, round by round."""
    comparisons: int
    """Pairs of windows that do not overlap; each was judged as then and now."""
    spread: float
    """The change that 95 % of the comparisons stay below, though there is none."""
    false_alarms: float
    """The share of comparisons with a verdict, at the minimum effect below."""
    detectable: float | None
    """The smallest slow-down that 80 % of the comparisons find; None: not even a fourfold one."""


@dataclass(frozen=True)
class Calibration:
    """What can be told apart on this machine."""

    created: str
    machine: Mapping[str, Any]
    settings: Settings
    window: int
    """Rounds of one check."""
    minimum_effect: float
    """A change below this is not told from noise here; `check` asks for at least as much."""
    cases: tuple[Noise, ...]

    @property
    def false_alarms(self) -> float:
        """The share of comparisons that found a change where there is none."""
        return sum(one.false_alarms for one in self.cases) / len(self.cases)

    @property
    def detectable(self) -> float | None:
        """The smallest slow-down that is found in every case; None: in one, none is."""
        found = [one.detectable for one in self.cases]
        return None if None in found else max(one for one in found if one is not None)


def doubled(cases: Sequence[Case]) -> list[Case]:
    """Every case twice, one beside the other."""
    return [case for case in cases for _ in range(2)]


def calibrate(
    session: Session, window: int, *, created: str, machine: Mapping[str, Any]
) -> Calibration:
    """What a session of doubled cases says about checks of `window` rounds."""
    if session.settings.rounds < 2 * window:
        raise UsageError(
            f"{session.settings.rounds} rounds do not hold two windows of {window}; "
            "measure more rounds"
        )
    logs = [_log_ratios(session, i) for i in range(0, len(session.cases), 2)]
    effect = max([MINIMUM_EFFECT, *(_spread(one, window) for one in logs)])
    noises = tuple(_noise(session.cases[2 * i], one, window, effect) for i, one in enumerate(logs))
    return Calibration(created, dict(machine), session.settings, window, effect, noises)


def same_machine(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether results of the one say something about the other."""
    return all(one.get(key) == other.get(key) for key in ("cpu", "usable_cores"))


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Keep a calibration in place of an older one."""
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, SCHEMA, plain(asdict(calibration)))


def read_calibration(path: Path) -> Calibration | None:
    """The calibration in a file; None if there is no such file."""
    if not path.exists():
        return None
    values = read_json(path, SCHEMA)
    del values["schema"]
    return decode(Calibration, values, str(path))


def _log_ratios(session: Session, first: int) -> list[float]:
    case = session.cases[first]
    others = {sample.round: sample for sample in session.of_case(first + 1)}
    found = []
    for sample in session.of_case(first):
        for one in (sample, others[sample.round]):
            if not one.clean:
                raise NotComparableError(
                    f"round {one.round + 1} of {case.label} is not sound: "
                    f"{one.failure or 'a worker was restarted'}; nothing can be said about noise"
                )
        found.append(math.log(sample.rate / others[sample.round].rate))
    return found


@dataclass(frozen=True)
class _Comparison:
    """Two windows of rounds, taken as then and now."""

    then: tuple[float, ...]
    now: tuple[float, ...]

    @property
    def apart(self) -> float:
        """How far the mean logs are apart."""
        return abs(float(np.mean(self.now) - np.mean(self.then)))

    @cached_property
    def change(self) -> Estimate:
        """How many times what it was."""
        return unpaired_ratio_estimate(
            [math.exp(x) for x in self.now], [math.exp(x) for x in self.then]
        )

    def verdict(self, effect: float, slowdown: float = 0.0) -> Verdict:
        """The verdict if now were so much slower. The interval moves with it, so it is reused."""
        test = unpaired_permutation_test([x - math.log1p(slowdown) for x in self.now], self.then)
        low, high = self.change.low, self.change.high
        change = Estimate(
            self.change.value / (1.0 + slowdown),
            None if low is None else low / (1.0 + slowdown),
            None if high is None else high / (1.0 + slowdown),
        )
        return judge(change, test.p, test.smallest, minimum_effect=effect, alpha=ALPHA)


def _noise(case: Case, logs: Sequence[float], window: int, effect: float) -> Noise:
    found = _comparisons(logs, window)
    alarms = sum(one.verdict(effect) in {Verdict.REGRESSED, Verdict.IMPROVED} for one in found)
    return Noise(
        label=case.label,
        n_envs=case.n_envs,
        log_ratios=tuple(logs),
        comparisons=len(found),
        spread=_spread(logs, window),
        false_alarms=alarms / len(found),
        detectable=_detectable(found, effect),
    )


def _comparisons(logs: Sequence[float], window: int) -> list[_Comparison]:
    """Windows of consecutive rounds, so that what drifts over minutes shows."""
    starts = range(len(logs) - window + 1)
    apart = [(a, b) for a, b in combinations(starts, 2) if b - a >= window]
    step = max(1, len(apart) // _COMPARISONS)
    return [
        _Comparison(tuple(logs[a : a + window]), tuple(logs[b : b + window]))
        for a, b in apart[::step]
    ]


def _spread(logs: Sequence[float], window: int) -> float:
    apart = [one.apart for one in _comparisons(logs, window)]
    return float(np.expm1(np.quantile(apart, 0.95)))


def _detectable(comparisons: Sequence[_Comparison], effect: float) -> float | None:
    """By halving the interval: the larger a slow-down, the more comparisons find it."""

    def found(slowdown: float) -> bool:
        hits = sum(one.verdict(effect, slowdown) is Verdict.REGRESSED for one in comparisons)
        return hits >= _POWER * len(comparisons)

    low, high = 0.0, _LARGEST - 1.0
    if not found(high):
        return None
    while high - low > 0.02:
        middle = (low + high) / 2.0
        low, high = (low, middle) if found(middle) else (middle, high)
    return max(high, effect)
