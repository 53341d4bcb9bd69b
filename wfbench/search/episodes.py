"""The last episodes of every environment: what compliance and score are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.compliance import Episodes

FIELDS = ("env_return", "compliance", "beside", "fixes", "counted", "wasted")


@dataclass(frozen=True)
class Summary:
    """Means over episodes, and how far their returns lie apart."""

    episodes: int
    env_return: float
    return_sd: float
    compliance: float
    beside: float
    fixes: float
    counted: float
    wasted: float


class EpisodeWindow:
    """Remembers the last `length` episodes of each of `n_envs` environments."""

    def __init__(self, n_envs: int, length: int) -> None:
        self._values = np.zeros((n_envs, length, len(FIELDS)))
        self._count = np.zeros(n_envs, dtype=np.int64)

    @property
    def total(self) -> int:
        """Episodes that ended so far."""
        return int(self._count.sum())

    def add(self, episodes: Episodes) -> None:
        """Take in the episodes of one rollout, in the order in which they ended."""
        envs = episodes.env_id
        if not len(envs):
            return
        by_env = np.argsort(envs, kind="stable")
        ranked = envs[by_env]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        sizes = np.diff(np.r_[starts, len(ranked)])
        nth = np.arange(len(ranked)) - np.repeat(starts, sizes)
        place = (self._count[ranked] + nth) % self._values.shape[1]
        values = np.stack([getattr(episodes, name) for name in FIELDS], axis=1)
        # Of one environment's episodes that share a place, the last one is assigned last.
        self._values[ranked, place] = values[by_env]
        self._count[ranked[starts]] += sizes

    def last(self, length: int) -> Summary:
        """The last `length` episodes of every environment, or as many as there are."""
        depth = self._values.shape[1]
        back = np.arange(min(length, depth))
        known = back < np.minimum(self._count, depth)[:, None]
        places = (self._count[:, None] - 1 - back) % depth
        chosen = np.take_along_axis(self._values, places[:, :, None], axis=1)[known]
        return summarise(chosen)


def summarise(values: NDArray[np.float64]) -> Summary:
    """Means of rows of `FIELDS`; NaN where there is no row."""
    if not len(values):
        return Summary(0, *[float("nan")] * 7)
    means = dict(zip(FIELDS, values.mean(axis=0).tolist(), strict=True))
    sd = float(values[:, 0].std(ddof=1)) if len(values) > 1 else float("nan")
    return Summary(episodes=len(values), return_sd=sd, **means)


def rows_of(episodes: Episodes) -> NDArray[np.float64]:
    """Episodes as rows of `FIELDS`."""
    return np.stack([getattr(episodes, name) for name in FIELDS], axis=1).astype(np.float64)
