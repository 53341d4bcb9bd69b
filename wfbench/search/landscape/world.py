"""Simulated trainings for benchmarks of searchers: a value and luck for every order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import UsageError
from wfbench.orders import all_orders, precedences
from wfbench.search.landscape.records import Landscape
from wfbench.search.landscape.signal import Signal, measure_signal

Shape = Literal["mallows", "pairs"]
SPREAD = 5.0
"""Standard deviation between the orders of a synthetic landscape, in points of score."""
_THETA = 3.0
_PAIRS = 2


@dataclass(frozen=True)
class RecordedWorld:
    """A recorded landscape as orders to search among: each has a value, and luck in every run.

    The values are the orders' mean scores, drawn together so that they differ by as much as orders
    really do: means of a few runs also differ by luck, and a searcher must not be rewarded for
    finding that. Luck is a difference that a run of some order really had, the same for all orders:
    the two or three runs of one order do not tell how far its runs lie apart, and orders whose
    runs happen to lie close would be easy to find.
    """

    num_units: int
    means: NDArray[np.float64]
    luck: NDArray[np.float64]
    """Differences of all orders' runs from the mean of their order."""
    failing: NDArray[np.float64]
    """By order: the share of its runs that failed."""

    def values(self, seed: int) -> NDArray[np.float64]:
        """Return the true value of every order, the same in every world."""
        del seed
        return self.means

    def run(self, index: int, rng: np.random.Generator) -> float:
        """Return the luck of a recorded run, drawn at random; NaN if it failed."""
        if rng.random() < self.failing[index]:
            return math.nan
        return float(rng.choice(self.luck))


@dataclass(frozen=True)
class SyntheticWorld:
    """Orders of known value: a best one, and the others worse the farther they are from it.

    `mallows`: by the share of pairs that differ. `pairs`: mostly by whether a few pairs, different
    in every world, are as in the best order.
    """

    shape: Shape
    icc: float
    """The intra-class correlation of the scores of runs."""
    num_units: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.icc <= 1:
            raise UsageError(f"icc is {self.icc}; it must be above 0 and at most 1")

    def values(self, seed: int) -> NDArray[np.float64]:
        """Return the true values of the orders, with another best one in every world."""
        rng = np.random.default_rng([seed, 0])
        signs = np.array([precedences(order) for order in all_orders(self.num_units)])
        agrees = signs == signs[rng.integers(len(signs))]
        values = np.exp(-_THETA * (1.0 - agrees.mean(axis=1)))
        if self.shape == "pairs":
            chosen = rng.choice(agrees.shape[1], min(_PAIRS, agrees.shape[1]), replace=False)
            values = values + 3.0 * agrees[:, chosen].mean(axis=1)
        centred = values - values.mean()
        scaled: NDArray[np.float64] = SPREAD * centred / centred.std()
        return scaled

    def run(self, index: int, rng: np.random.Generator) -> float:
        """Return normal luck whose size follows from the intra-class correlation."""
        del index
        return float(rng.normal(0.0, SPREAD * math.sqrt(1.0 / self.icc - 1.0)))


def recorded_world(landscape: Landscape) -> tuple[RecordedWorld, Signal]:
    """Return the world of a landscape, and its signal."""
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
    runs = np.array([len(one) for one in landscape.replicates])
    failing = 1.0 - np.array([len(one) for one in scores]) / runs
    return RecordedWorld(len(landscape.units), shrunk, _luck(scores), failing), signal


def _luck(scores: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return how far runs of an order lie from their mean, scaled to an unbiased variance."""
    repeated = [np.array(one) for one in scores if len(one) > 1]
    return np.concatenate(
        [(one - one.mean()) * math.sqrt(len(one) / (len(one) - 1)) for one in repeated]
    )


World = RecordedWorld | SyntheticWorld
"""Orders to search among."""
