"""In which order cases are measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wfbench.seeding import Purpose, purpose_seed

from .model import Settings

_ORDER = 1_000_000
"""Index of the seeds that order the rounds, apart from those of the rounds themselves."""


@dataclass(frozen=True)
class Slot:
    """One sample to take."""

    case: int
    round: int
    position: int
    seed: int


def schedule(num_cases: int, settings: Settings) -> Iterator[Slot]:
    """Every case once per round, in an order that changes from round to round.

    What slows the machine down for a while slows all cases down alike. All cases of a round have
    the same seed, so that they can be compared with each other.
    """
    position = 0
    for number in range(settings.rounds):
        seed = purpose_seed(settings.seed, Purpose.BENCH, number)
        shuffle = purpose_seed(settings.seed, Purpose.BENCH, _ORDER + number)
        for case in np.random.default_rng(shuffle).permutation(num_cases):
            yield Slot(int(case), number, position, seed)
            position += 1
