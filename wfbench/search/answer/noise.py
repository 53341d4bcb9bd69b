"""How far order means scatter between replicates: trainings, or episodes of one training."""

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

    @property
    def count(self) -> int:
        """Return the number of replicates."""
        return len(self.values)

    @property
    def even(self) -> bool:
        """Return whether variances are pooled over the dimensions of a part."""
        return self.count - 1 <= MANY

    def mean(self) -> Floats:
        """Return the mean of each order."""
        return np.asarray(self.values.mean(axis=0))

    def effect_noise(self) -> Part:
        """Return the noise of the pair space: one variance for all its dimensions if pooled."""
        return self._part(self.design.pairs)

    def parts(self, *, rest: bool) -> list[Part]:
        """Return the noise of the pair space by parts, and of the rest if asked for."""
        if self.even:
            return [self._pooled(basis) for basis in self.design.parts(rest=rest)]
        found = [self._part(self.design.pairs)] if self.design.pairs.shape[1] else []
        if rest and self.design.rest.shape[1]:
            found.append(self._pooled(self.design.rest))
        return found

    def _part(self, basis: Floats) -> Part:
        if self.even:
            return self._pooled(basis)
        scatter = centred(self.values @ basis)
        covariance = scatter.T @ scatter / (self.count - 1) / self.count
        size, axes = np.linalg.eigh(covariance)
        return Part(basis @ (axes * np.sqrt(np.maximum(size, 0))) @ axes.T, self.count - 1)

    def _pooled(self, basis: Floats) -> Part:
        df = basis.shape[1] * (self.count - 1)
        squares = float((centred(self.values @ basis) ** 2).sum())
        return Part(basis * np.sqrt(squares / max(df, 1) / self.count), max(df, 1))


def replicates_of(design: Design, returns: list[Floats]) -> Replicates:
    """Return the replicates of these trainings: each one's means, or one training's episodes."""
    values = returns[0].T if len(returns) == 1 else np.array([one.mean(axis=1) for one in returns])
    largest = max(float(np.abs(one).max()) for one in returns)
    return Replicates(design, np.asarray(values - values.mean()), 1e-9 * largest)
