"""How far order means scatter between replicates: trainings, or episodes of one training.

A few trainings cannot tell a covariance, their episodes can. So the shape of the noise comes from
episodes, and trainings only tell how many times larger it is (the ratio, at least 1). This assumes
that trainings differ most where episodes do. Differences between trainings in a direction in which
episodes hardly vary make all intervals wider, but that direction's own interval may be too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wfbench.search.answer.design import Design, centred
from wfbench.search.answer.quantiles import Floats

MANY = 30
"""With more replicates than this the covariance is estimated as it is, without pooling."""


@dataclass(frozen=True)
class Part:
    """Noise in one part of the space of order means."""

    factor: Floats
    """[orders, dimensions]; times standard normals it is the error of the means."""
    df: float


@dataclass(frozen=True)
class Replicates:
    """Order means of independent replicates, less the mean of everything."""

    design: Design
    values: Floats
    """[replicates, orders]"""
    tiny: float
    """Differences up to this size are rounding."""
    episodes: Floats | None = None
    """[episodes, orders] less the mean of the training; its Gram matrix is the covariance of the
    means of one training that is due to episodes. None if unknown or nothing varies."""
    episode_df: int = 0

    @property
    def count(self) -> int:
        """Return the number of replicates."""
        return len(self.values)

    @property
    def pooled(self) -> bool:
        """Return whether variances are pooled over the dimensions of a part."""
        return self.count - 1 <= MANY

    @property
    def even(self) -> bool:
        """Return whether the dimensions of a part have the same variance."""
        return self.pooled and self.episodes is None

    def mean(self) -> Floats:
        """Return the mean of each order."""
        return np.asarray(self.values.mean(axis=0))

    def effect_noise(self) -> Part:
        """Return the noise of the pair space; if pooled, with one ratio for all of it."""
        pairs = self.design.pairs
        return self._pooled(pairs, [pairs])[0] if self.pooled else self._unpooled(pairs)

    def parts(self, *, rest: bool) -> list[Part]:
        """Return the noise of the pair space by parts, and of the rest if asked for."""
        pairs = self.design.pairs
        if self.pooled:
            found = self._pooled(pairs, self.design.parts(rest=False))
        else:
            found = [self._unpooled(pairs)] if pairs.shape[1] else []
        if rest and self.design.rest.shape[1]:
            found += self._pooled(self.design.rest, [self.design.rest])
        return found

    def _unpooled(self, basis: Floats) -> Part:
        scatter = centred(self.values @ basis)
        covariance = scatter.T @ scatter / (self.count - 1) / self.count
        return Part(basis @ _power(covariance, 0.5), self.count - 1)

    def _pooled(self, space: Floats, parts: list[Floats]) -> list[Part]:
        """Return the noise of the parts of a space, each with a ratio of its own."""
        scatter = centred(self.values @ space)
        known = self.episodes @ space if self.episodes is not None else np.zeros((0, len(space.T)))
        covariance = np.asarray(known.T @ known)
        size = float(np.trace(covariance)) / max(len(covariance), 1)
        if size <= self.tiny**2:
            return [self._isotropic(part) for part in parts]
        # With few episodes the estimate has directions that are far too small: lift all of them.
        lift = (len(covariance) / (len(covariance) + self.episode_df)) ** 2
        lifted = covariance + lift * size * np.eye(len(covariance))
        shape_df = self.episode_df * (1 + lift) ** 2
        root, whiten = _power(lifted, 0.5), _power(lifted, -0.5)
        seen, expected = scatter @ whiten, whiten @ covariance @ whiten
        found = []
        for part in parts:
            inner = space.T @ part
            ratio, df = self._ratio(seen @ inner, inner.T @ expected @ inner)
            factor = space @ (root @ inner) * np.sqrt(ratio / self.count)
            found.append(Part(factor, max(1.0, 1 / (1 / df + 1 / shape_df))))
        return found

    def _ratio(self, seen: Floats, expected: Floats) -> tuple[float, float]:
        """Return the scatter over the covariance that episodes let expect, and its df."""
        trainings, total = self.count - 1, float(np.trace(expected))
        ratio = float((seen**2).sum()) / trainings / total
        return max(1.0, ratio), trainings * total**2 / float((expected**2).sum())

    def _isotropic(self, basis: Floats) -> Part:
        df = basis.shape[1] * (self.count - 1)
        squares = float((centred(self.values @ basis) ** 2).sum())
        return Part(basis * np.sqrt(squares / max(df, 1) / self.count), max(df, 1))


def replicates_of(design: Design, returns: list[Floats]) -> Replicates:
    """Return the replicates of these trainings: each one's means, or one training's episodes."""
    largest = max(float(np.abs(one).max()) for one in returns)
    tiny = 1e-9 * largest
    if len(returns) == 1:
        return Replicates(design, np.asarray(returns[0].T - returns[0].mean()), tiny)
    values = np.array([one.mean(axis=1) for one in returns])
    values -= values.mean()
    df = sum(one.shape[1] - 1 for one in returns)
    scale = np.sqrt(np.mean([1 / one.shape[1] for one in returns]) / max(df, 1))
    episodes = np.concatenate([centred(one.T) for one in returns]) * scale
    vary = df and float(np.abs(centred(episodes.T)).max()) > tiny
    return Replicates(design, values, tiny, episodes if vary else None, df)


def _power(matrix: Floats, exponent: float) -> Floats:
    """Return a power of a symmetric matrix without negative eigenvalues."""
    size, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.maximum(size, 0) ** exponent) @ axes.T)
