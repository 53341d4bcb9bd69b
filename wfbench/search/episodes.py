"""The last episodes of every environment, from which compliance and score are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.orders.compliance import MIN_CHOICES, Episodes

FIELDS = ("env_return", "compliance", "secondary", "fixes", "counted", "wasted", "right")
"""Of `Episodes`."""
JUDGED = ("compliance", "secondary_compliance", "fixes", "counted", "wasted")


@dataclass(frozen=True)
class Summary:
    """Means over episodes, and how far their returns lie apart."""

    episodes: int
    env_return: float
    return_sd: float
    compliance: float
    """By a pooled definition the share of all choices; NaN if untested."""
    secondary_compliance: float
    fixes: float
    counted: float
    wasted: float

    @property
    def judged(self) -> dict[str, Any]:
        """Return how well the order was followed, as the fields of events."""
        return {name: getattr(self, name) for name in JUDGED}


class EpisodeWindow:
    """Remembers the last `length` episodes of each of `n_envs` environments."""

    def __init__(self, n_envs: int, length: int, *, pooled: bool) -> None:
        self._pooled = pooled
        self._values = np.zeros((n_envs, length, len(FIELDS)))
        self._count = np.zeros(n_envs, dtype=np.int64)

    @property
    def total(self) -> int:
        """Return how many episodes ended so far."""
        return int(self._count.sum())

    def add(self, episodes: Episodes) -> None:
        """Add the episodes of one rollout, in the sequence in which they ended."""
        envs = episodes.env_id
        if not len(envs):
            return
        by_env = np.argsort(envs, kind="stable")
        ranked = envs[by_env]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        sizes = np.diff(np.r_[starts, len(ranked)])
        nth = np.arange(len(ranked)) - np.repeat(starts, sizes)
        place = (self._count[ranked] + nth) % self._values.shape[1]
        # Of one environment's episodes that share a place, the last one is assigned last.
        self._values[ranked, place] = rows_of(episodes)[by_env]
        self._count[ranked[starts]] += sizes

    def last(self, length: int) -> Summary:
        """Summarise the last `length` episodes of every environment, or as many as there are."""
        depth = self._values.shape[1]
        back = np.arange(min(length, depth))
        known = back < np.minimum(self._count, depth)[:, None]
        places = (self._count[:, None] - 1 - back) % depth
        chosen = np.take_along_axis(self._values, places[:, :, None], axis=1)[known]
        return summarise(chosen, pooled=self._pooled)


def summarise(values: NDArray[np.float64], *, pooled: bool) -> Summary:
    """Summarise rows of `FIELDS`; everything is NaN if there are none."""
    if not len(values):
        return Summary(0, *[float("nan")] * 7)
    means = dict(zip(FIELDS, values.mean(axis=0).tolist(), strict=True))
    right, secondary = means.pop("right"), means.pop("secondary")
    sd = float(values[:, 0].std(ddof=1)) if len(values) > 1 else float("nan")
    if pooled:
        enough = means["counted"] * len(values) >= MIN_CHOICES
        means["compliance"] = right / means["counted"] if enough else float("nan")
    return Summary(len(values), return_sd=sd, secondary_compliance=secondary, **means)


def rows_of(episodes: Episodes) -> NDArray[np.float64]:
    """Return episodes as rows of `FIELDS`."""
    return np.stack([getattr(episodes, name) for name in FIELDS], axis=1).astype(np.float64)
