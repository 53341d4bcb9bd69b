"""What a step of all environments costs, and what it would cost with other cores and workers.

The seconds of one step of n environments, stepped by W workers on C cores, are taken to be

    delay + fixed + message W + transition n + work n / min(W, C) + wait n / W

`fixed`, `message` and `transition` are computed one after the other, `work` is the computing that
cores share out. All four are CPU time, so the CPU time of a step is their sum with C = 1. `delay`
and `wait` are not: `delay` is spent on waking up and being woken, `wait` on environments that
sleep, which as many workers as one likes do at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

_SLEEPS = 0.5
"""If one worker computes for less than this share of the time, its environments sleep."""
LARGEST_ERROR = 0.5
"""If a fitted point is off by more than this share, nothing is predicted."""


@dataclass(frozen=True)
class StepPoint:
    """One measured point."""

    n_envs: int
    workers: int
    seconds: float
    """Wall time of one step of all environments."""
    cpu: float
    """CPU time of it, of all processes."""


@dataclass(frozen=True)
class StepCosts:
    """Seconds by what they are spent on; see the module."""

    delay: float
    fixed: float
    message: float
    transition: float
    work: float
    wait: float
    error: float
    """The largest error at a fitted point, as a share of the measured time."""

    def parts(self, n_envs: int, workers: int, cores: int) -> dict[str, float]:
        """Return the predicted seconds of one step by what they are spent on."""
        return {
            "fixed": self.delay + self.fixed,
            "messages": self.message * workers,
            "caller": self.transition * n_envs,
            "workers": n_envs * (self.work / min(workers, cores) + self.wait / workers),
        }


def fit_costs(points: Sequence[StepPoint], cores: int) -> StepCosts | str:
    """Return the costs that explain wall and CPU time of the points best; else why there are none.

    No cost is below 0, and the squares of relative errors are minimised.
    """
    if len({point.workers for point in points}) < 2 or len(points) < 4:
        return "fewer than four points, or all with the same number of workers"
    n, w = (np.array([getattr(p, name) for p in points]) for name in ("n_envs", "workers"))
    wall, cpu = (np.array([getattr(p, name) for p in points]) for name in ("seconds", "cpu"))
    one, none = np.ones(len(n)), np.zeros(len(n))
    timed = np.stack([one, one, w, n, n / np.minimum(w, cores), n / w], axis=1)
    computed = np.stack([none, one, w, n, n, none], axis=1)
    if not ((w == 1) & (cpu < _SLEEPS * wall)).any():
        timed[:, -1] = 0.0
    rows = np.concatenate([timed / wall[:, None], computed / cpu[:, None]])
    found = _least_squares(rows)
    error = float(np.abs(timed @ found / wall - 1).max())
    if error > LARGEST_ERROR:
        return f"its points do not follow the model, one is {error:.0%} off"
    delay, fixed, message, transition, work, wait = map(float, found)
    return StepCosts(delay, fixed, message, transition, work, wait, error)


def _least_squares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the factors, none below 0, with which the columns sum to 1 as nearly as can be.

    Every choice of columns is tried: there are few.
    """
    useful = np.flatnonzero(rows.any(axis=0))
    best, least = np.zeros(rows.shape[1]), float("inf")
    for size in range(1, len(useful) + 1):
        for chosen in combinations(useful, size):
            part = rows[:, chosen]
            found = np.linalg.lstsq(part, np.ones(len(rows)), rcond=None)[0]
            away = float(((part @ found - 1) ** 2).sum())
            if (found >= 0).all() and away < least * (1 - 1e-9):
                best, least = np.zeros(rows.shape[1]), away
                best[list(chosen)] = found
    return best
