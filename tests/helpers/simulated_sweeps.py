"""Sweeps with known effects of orders, and what tests ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from wfbench.orders import all_orders, precedences, unit_pairs
from wfbench.search.answer import PairEffect
from wfbench.search.answer.design import design_of
from wfbench.search.answer.noise import Replicates, replicates_of
from wfbench.store.sweeps import Sweep

Floats = NDArray[np.float64]
ORDERS = all_orders(5)
PAIRS = unit_pairs(5)
SIGNS = np.array([precedences(order) for order in ORDERS]) / 2
E_BEFORE_U = PAIRS.index((1, 4))
NOTHING = np.zeros(len(PAIRS))
EVENLY = np.ones(len(PAIRS))
MAINLY_ONE = np.full(len(PAIRS), 0.1)
"""Spread of trainings and episodes by pair where it is mainly in one pair."""
MAINLY_ONE[E_BEFORE_U] = 1.0


def effects_of(points: float) -> Floats:
    found = NOTHING.copy()
    found[E_BEFORE_U] = points
    return found


def simulate(
    rng: np.random.Generator,
    trainings: int,
    effects: Floats,
    *,
    between: float = 0.2,
    within: float = 5.0,
    episodes: int = 100,
    extra: Floats | float = 0.0,
    shape: Floats = EVENLY,
    by_pair: float = 0.0,
) -> list[Sweep]:
    """Return sweeps; trainings differ by `between` points per pair, episodes by `within`.

    Episodes also differ by `by_pair` points per pair; both have the `shape`.
    """
    nothing = np.zeros((len(ORDERS), episodes), dtype=np.int64)
    sweeps = []
    for _ in range(trainings):
        mean = -17 + SIGNS @ (effects + shape * rng.normal(0, between, len(PAIRS))) + extra
        noise = rng.normal(0, within, (len(ORDERS), episodes)) + rng.normal(0, 4, episodes)
        if by_pair:
            noise += SIGNS @ (shape[:, None] * rng.normal(0, by_pair, (len(PAIRS), episodes)))
        sweeps.append(Sweep(ORDERS, mean[:, None] + noise, nothing, nothing))
    return sweeps


def concentrated(
    rng: np.random.Generator, trainings: int, effects: Floats, episodes: int = 100
) -> list[Sweep]:
    """Return sweeps with trainings and episodes that differ mainly in one pair."""
    return simulate(
        rng,
        trainings,
        effects,
        between=1.0,
        within=0.5,
        episodes=episodes,
        shape=MAINLY_ONE,
        by_pair=5.0,
    )


def replicates(sweeps: Sequence[Sweep]) -> Replicates:
    return replicates_of(design_of(sweeps[0].orders), [sweep.env_return for sweep in sweeps])


def part_of(sweep: Sweep, indices: Iterable[int]) -> Sweep:
    rows = list(indices)
    orders = tuple(sweep.orders[row] for row in rows)
    return Sweep(orders, sweep.env_return[rows], sweep.choices[rows], sweep.right[rows])


def told(effect: PairEffect) -> tuple[float, float]:
    assert effect.effect is not None
    assert effect.half is not None
    return effect.effect, effect.half
