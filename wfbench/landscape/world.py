"""What stands in for training when searchers are benchmarked: a value and luck for every order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import UsageError
from wfbench.landscape.records import Landscape
from wfbench.landscape.signal import Signal, measure_signal
from wfbench.orders import all_orders, precedences

Shape = Literal["mallows", "pairs"]
_SPREAD = 5.0
"""Standard deviation between the orders of a synthetic landscape, in points of score."""
_THETA = 3.0
_PAIRS = 2


class World(Protocol):
    """Orders to search among."""

    @property
    def num_units(self) -> int:
        """How many units an order ranks."""

    def values(self, seed: int) -> NDArray[np.float64]:
        """The true value of every order in the world of a seed."""

    def run(self, index: int, rng: np.random.Generator) -> float:
        """The luck of one full training run of an order; NaN if it fails."""


@dataclass(frozen=True)
class RecordedWorld:
    """A recorded landscape.

    The values are the orders' mean scores, drawn together so that they differ by as much as orders
    really do: means of a few runs also differ by luck, and a searcher must not be rewarded for
    finding that. Luck is a difference that a run of the same order really had.
    """

    num_units: int
    means: NDArray[np.float64]
    luck: tuple[tuple[float, ...], ...]
    """By order: differences of its runs from their mean, and NaN for each that failed."""

    def values(self, seed: int) -> NDArray[np.float64]:
        """The same in every world."""
        del seed
        return self.means

    def run(self, index: int, rng: np.random.Generator) -> float:
        """The luck of a recorded run, drawn at random."""
        return float(rng.choice(self.luck[index]))


@dataclass(frozen=True)
class SyntheticWorld:
    """Orders of known value: a best one, and the others worse the farther they are from it.

    `mallows`: by the share of pairs that differ. `pairs`: mostly by whether a few pairs, different
    in every world, are as in the best order.
    """

    num_units: int
    shape: Shape
    icc: float

    def values(self, seed: int) -> NDArray[np.float64]:
        """Another best order in every world."""
        rng = np.random.default_rng([seed, 0])
        signs = np.array([precedences(order) for order in all_orders(self.num_units)])
        agrees = signs == signs[rng.integers(len(signs))]
        values = np.exp(-_THETA * (1.0 - agrees.mean(axis=1)))
        if self.shape == "pairs":
            chosen = rng.choice(agrees.shape[1], min(_PAIRS, agrees.shape[1]), replace=False)
            values = values + 3.0 * agrees[:, chosen].mean(axis=1)
        centred = values - values.mean()
        scaled: NDArray[np.float64] = _SPREAD * centred / centred.std()
        return scaled

    def run(self, index: int, rng: np.random.Generator) -> float:
        """Normal luck, of the size that the intra-class correlation says."""
        del index
        return float(rng.normal(0.0, _SPREAD * math.sqrt(1.0 / self.icc - 1.0)))


def recorded_world(landscape: Landscape) -> tuple[RecordedWorld, Signal]:
    """The world of a landscape, and its signal."""
    signal = measure_signal(landscape)
    scores = [landscape.scores(index) for index in range(len(landscape.replicates))]
    missing = [index for index, one in enumerate(scores) if not one]
    if missing:
        raise UsageError(
            f"the landscape has no run of {len(missing)} orders, such as order {missing[0]}; "
            "searchers can only be benchmarked on all of them"
        )
    means = np.array([np.mean(one) for one in scores])
    grand = means.mean()
    shrunk = grand + math.sqrt(signal.reliability) * (means - grand)
    pooled = [s - m for one, m in zip(scores, means, strict=True) for s in one if len(one) > 1]
    luck = []
    for index, (one, mean) in enumerate(zip(scores, means, strict=True)):
        count = len(one)
        own = [(s - mean) * math.sqrt(count / (count - 1)) for s in one] if count > 1 else pooled
        failed = len(landscape.replicates[index]) - count
        luck.append((*own, *[math.nan] * failed))
    return RecordedWorld(len(landscape.units), shrunk, tuple(luck)), signal


def synthetic_world(shape: Shape, icc: float, num_units: int = 5) -> SyntheticWorld:
    """A world whose runs have this intra-class correlation."""
    if not 0 < icc <= 1:
        raise UsageError(f"icc is {icc}; it must be above 0 and at most 1")
    return SyntheticWorld(num_units, shape, icc)
