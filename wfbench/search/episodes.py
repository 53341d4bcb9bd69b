"""The last episodes of every environment, from which compliance and score are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.orders.compliance import Episodes

FIELDS = ("env_return", "compliance", "secondary", "fixes", "counted", "wasted")
"""Of `Episodes`; `Summary` has the means in this sequence."""
JUDGED = ("compliance", "secondary_compliance", "fixes", "counted", "wasted")


@dataclass(frozen=True)
class Summary:
    """Means over episodes, and how far their returns lie apart."""

    episodes: int
    env_return: float
    return_sd: float
    compliance: float
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

    def __init__(self, n_envs: int, length: int) -> None:
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
        return summarise(chosen)


def summarise(values: NDArray[np.float64]) -> Summary:
    """Return the means of rows of `FIELDS`; NaN if there are none."""
    if not len(values):
        return Summary(0, *[float("nan")] * 7)
    env_return, *others = values.mean(axis=0).tolist()
    sd = float(values[:, 0].std(ddof=1)) if len(values) > 1 else float("nan")
    return Summary(len(values), env_return, sd, *others)


def rows_of(episodes: Episodes) -> NDArray[np.float64]:
    """Return episodes as rows of `FIELDS`."""
    return np.stack([getattr(episodes, name) for name in FIELDS], axis=1).astype(np.float64)
