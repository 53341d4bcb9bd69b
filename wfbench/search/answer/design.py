"""The geometry of a set of orders: which differences are due to pairs of units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import factorial

import numpy as np

from wfbench.contract import Order
from wfbench.orders import precedences, unit_pairs
from wfbench.search.answer.quantiles import Floats, max_t_quantile, normal_draws

_RANK = 1e-8


@dataclass(frozen=True, eq=False)
class Design:
    """A set of orders and orthonormal bases of the ways in which their means can differ.

    The pair space holds all differences that pair effects can make. It splits into a part made by
    the positions of units (`positions`) and the rest of it (`cycles`). Relabelling units maps each
    part onto itself, so each has its own variance.
    """

    orders: tuple[Order, ...]
    signs: Floats
    """[orders, pairs] +1/2 if the first unit comes first, else -1/2; less the column's mean."""
    pairs: Floats
    positions: Floats
    cycles: Floats
    rest: Floats
    """What pair effects cannot explain."""

    @cached_property
    def solve(self) -> Floats:
        """Return the matrix that turns order means into pair effects, [pairs, orders]."""
        return np.linalg.pinv(self.signs, rcond=_RANK).astype(np.float64)

    @cached_property
    def estimable(self) -> tuple[bool, ...]:
        """Return for each pair whether its effect can be told from the others'."""
        seen = self.solve @ self.signs
        return tuple(bool(one) for one in np.abs(np.diag(seen) - 1) < 1e-6)

    def parts(self, *, rest: bool) -> list[Floats]:
        """Return the bases of the parts that have a variance each, with the rest if asked for."""
        bases = [self.positions, self.cycles, self.rest] if rest else [self.positions, self.cycles]
        return [basis for basis in bases if basis.shape[1]]

    @cached_property
    def complete(self) -> bool:
        """Return whether these are all orders of the units."""
        return len(self.orders) == factorial(len(self.orders[0]))

    @cached_property
    def told(self) -> Floats:
        """Return the effects that can be told as contrasts, [effects, dimensions of pair space]."""
        return np.asarray(self.solve[list(self.estimable)] @ self.pairs)

    @cached_property
    def tested(self) -> Floats:
        """Return the contrasts of the global test, [contrasts, dimensions of the pair space].

        These are the pair effects; if some of those cannot be told, all differences of two orders.
        """
        varies = np.abs(self.signs).max(axis=0, initial=0) > 0
        if all(np.array(self.estimable)[varies]):
            return np.asarray((self.solve @ self.pairs)[varies])
        first, second = np.triu_indices(len(self.orders), 1)
        return np.asarray(self.pairs[first] - self.pairs[second])


@lru_cache(maxsize=8)
def design_of(orders: tuple[Order, ...]) -> Design:
    """Return the design of these orders, which must be sorted."""
    signs = centred(np.array([precedences(order) for order in orders], dtype=np.float64) / 2)
    signs = signs.reshape(len(orders), len(unit_pairs(len(orders[0]))))
    places = centred(np.argsort(np.array(orders), axis=1).astype(np.float64))
    pairs = _basis(signs)
    positions = _basis(places)
    cycles = _basis(pairs - positions @ (positions.T @ pairs))
    flat = np.full((len(orders), 1), len(orders) ** -0.5)
    left, _, _ = np.linalg.svd(np.hstack((flat, pairs)), full_matrices=True)
    rest = _settled(left[:, 1 + pairs.shape[1] :])
    return Design(orders, signs, pairs, positions, cycles, rest)


@lru_cache(maxsize=64)
def even_critical(design: Design, df: float, level: float, *, effects: bool) -> float:
    """Return the critical value of the largest t where the pair space has one variance.

    It is that of the pair effects, or of the global test.
    """
    return max_t_quantile(design.told if effects else design.tested, df, level)


def centred(values: Floats) -> Floats:
    """Return the values less the mean of each column."""
    return np.asarray(values - values.mean(axis=0))


def _basis(columns: Floats) -> Floats:
    left, size, _ = np.linalg.svd(columns, full_matrices=False)
    return _settled(left[:, size > _RANK])


def _settled(basis: Floats) -> Floats:
    """Return the basis of the same space that is nearest to fixed directions.

    Simulated quantiles depend a little on the basis, and which one a decomposition finds depends on
    the processor.
    """
    left, _, right = np.linalg.svd(basis.T @ normal_draws(*basis.shape))
    return np.ascontiguousarray(basis @ (left @ right))
