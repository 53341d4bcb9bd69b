"""Read, print, number and compare orders: repair-priority permutations of unit types.

An order is a tuple of unit indices, most urgent first. Orders of n units are numbered 0..n!-1 in
lexicographic order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations, permutations
from math import factorial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, UsageError

MAX_UNITS = 8
"""With more units there are too many orders to list."""

NAMED_UNITS = ("defender", "enterprise", "op_server", "op_host", "user")
"""The units that the named orders rank, in canonical order."""

NAMED: Mapping[str, Order] = MappingProxyType(
    {
        "critical_first": (0, 2, 1, 3, 4),
        "enterprise_focus": (1, 0, 2, 3, 4),
        "user_priority": (4, 0, 1, 2, 3),
        "operational_focus": (2, 3, 0, 1, 4),
        "balanced": (0, 1, 2, 4, 3),
        "reverse": (4, 3, 1, 2, 0),
    }
)
"""The orders that have a name."""


@cache
def all_orders(n: int = 5) -> tuple[Order, ...]:
    """Return every order of `n` units; an order's index is its position here."""
    if not 1 <= n <= MAX_UNITS:
        raise UsageError(f"cannot list the orders of {n} units; give 1 to {MAX_UNITS} units")
    return tuple(permutations(range(n)))


def order_index(order: Order) -> int:
    """Return the index of an order among all orders of its length."""
    n = len(check_order(order))
    index = 0
    for position, unit in enumerate(order):
        smaller = sum(later < unit for later in order[position + 1 :])
        index += smaller * factorial(n - 1 - position)
    return index


def order_code(order: Order) -> NDArray[np.float32]:
    """Return the order as a network reads it: x[n * position + unit] = 1, all else 0."""
    n = len(check_order(order))
    code = np.zeros(n * n, dtype=np.float32)
    code[np.arange(n) * n + np.array(order)] = 1
    return code


def check_order(order: Order, n: int | None = None) -> Order:
    """Return `order` if it is one (of `n` units, if given), else raise UsageError."""
    if sorted(order) != list(range(len(order) if n is None else n)):
        size = "" if n is None else f" of {n} units"
        raise UsageError(f"{order} is not an order{size}: it must have each unit index once")
    return order


@cache
def unit_pairs(n: int = 5) -> tuple[tuple[int, int], ...]:
    """Return the n(n-1)/2 pairs of units, (0, 1) first."""
    return tuple(combinations(range(n), 2))


def precedences(order: Order) -> NDArray[np.int8]:
    """Return 1 for each pair (a, b) of `unit_pairs` in which a comes before b, else -1."""
    position = np.argsort(check_order(order))
    first, second = np.array(unit_pairs(len(order)), dtype=np.int64).reshape(-1, 2).T
    signs: NDArray[np.int8] = np.where(position[first] < position[second], 1, -1).astype(np.int8)
    return signs


def kendall(a: Order, b: Order) -> float:
    """Return the share of pairs of units that the orders rank differently, from 0 to 1."""
    check_order(b, len(check_order(a)))
    pairs = max(1, len(unit_pairs(len(a))))
    return float(np.count_nonzero(precedences(a) != precedences(b)) / pairs)


def format_order(order: Order, units: Sequence[str] = NAMED_UNITS) -> str:
    """Return the order as people write it: `D>E>S>H>U`."""
    check_order(order, len(units))
    short = short_names(tuple(units))
    return ">".join(short[unit] for unit in order)


def parse_order(text: str, units: Sequence[str] = NAMED_UNITS) -> Order:
    """Return the order that `text` stands for.

    Accepted are names or short forms of units separated by `>` (`D>E>S>H>U`), the letters alone
    (`DESHU`), the name of an order, or an index.
    """
    units = tuple(units)
    given = text.strip()
    name = given.lower().replace("-", "_")
    if name in NAMED and units == NAMED_UNITS:
        return NAMED[name]
    if given.isascii() and given.isdigit():
        index, orders = int(given), all_orders(len(units))
        if index >= len(orders):
            raise UsageError(f"there is no order {index}; orders are 0..{len(orders) - 1}")
        return orders[index]
    known = {unit.lower(): index for index, unit in enumerate(units)}
    known |= {short.lower(): index for index, short in enumerate(short_names(units))}
    parts = [part.strip() for part in given.split(">")]
    if len(parts) == 1 and given.lower() not in known:
        parts = list(given)
    found = [known.get(part.lower(), -1) for part in parts]
    if sorted(found) != list(range(len(units))):
        raise UsageError(f"{text!r} is not an order; {_expected(units)}")
    return tuple(found)


@cache
def short_names(units: tuple[str, ...]) -> tuple[str, ...]:
    """Return one letter per unit, the first of its last word; whole names if letters clash."""
    letters = tuple(unit.rpartition("_")[2][:1].upper() for unit in units)
    sound = len(set(letters)) == len(units) and all(letter.isalpha() for letter in letters)
    return letters if sound else units


def _expected(units: tuple[str, ...]) -> str:
    example = format_order(tuple(range(len(units))), units)
    last = factorial(len(units)) - 1
    names = f", one of {', '.join(NAMED)}" if units == NAMED_UNITS else ""
    return f"write it like {example}{names}, or as an index 0..{last}"
