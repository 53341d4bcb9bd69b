"""How an order is shown to a policy: as bits that are appended to the observation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, PluginError
from wfbench.contract.forms import KINDS, POSITIONS
from wfbench.orders import all_orders, order_code, order_index, precedences, unit_pairs

__all__ = ["KINDS", "OrderCode"]


@dataclass(frozen=True)
class OrderCode:
    """The code of a kind for orders of so many units."""

    kind: str
    units: int

    @property
    def size(self) -> int:
        """Return the number of bits."""
        return self.units**2 if self.kind == POSITIONS else len(unit_pairs(self.units))

    @property
    def table(self) -> NDArray[np.uint8]:
        """Return the code of every order of `all_orders`, one per row. Do not change it."""
        return _table(self.kind, self.units)

    def encode(self, order: Order) -> NDArray[np.uint8]:
        """Return the bits of an order."""
        bits: NDArray[np.uint8] = self.table[order_index(order)]
        return bits

    def decode(self, bits: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index among `all_orders` of each row of bits, [..., size]."""
        keys, orders = _keys(self.kind, self.units)
        found = (bits != 0) @ _weights(self.size)
        place = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
        if not np.array_equal(keys[place], found):
            raise PluginError(
                f"the last {self.size} features of an observation are not the code of an order; "
                "environment and collector do not match"
            )
        indices: NDArray[np.int64] = orders[place]
        return indices


@cache
def _table(kind: str, units: int) -> NDArray[np.uint8]:
    encode = order_code if kind == POSITIONS else lambda order: precedences(order) == 1
    table = np.array([encode(order) for order in all_orders(units)], dtype=np.uint8)
    table.flags.writeable = False
    return table


@cache
def _weights(size: int) -> NDArray[np.int64]:
    return np.int64(1) << np.arange(size, dtype=np.int64)


@cache
def _keys(kind: str, units: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes as sorted numbers, and the order that each belongs to."""
    table = _table(kind, units)
    keys = (table != 0) @ _weights(table.shape[1])
    orders = np.argsort(keys)
    return keys[orders], orders
