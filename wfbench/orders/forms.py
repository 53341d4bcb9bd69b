"""Forms that any environment with a workflow model can take.

A conditioned environment draws an order for every episode and shows its code in the observation. A
held one keeps blue inactive for the first steps of an episode. Both draws depend on env seed and
episode only, so that every collector delivers the same transitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvRef, Order, UsageError, WorkflowModel
from wfbench.contract.forms import FormOptions, held_steps, shaped_ref
from wfbench.contract.plan import uniform_draws
from wfbench.orders import all_orders, order_index, parse_order
from wfbench.orders.codes import OrderCode

ALL = "all"
HELD = ("hold", "hold_share")
"""Options that say how episodes of a training start; an evaluation starts its own way."""
_ORDER_STREAM = np.uint64(0x6F72646572000001)
_HOLD_STREAM = np.uint64(0x686F6C6400000001)
_SHARE_STREAM = np.uint64(0x686F6C6400000002)


def conditioned(ref: EnvRef, orders: str = "") -> EnvRef:
    """Refer to an environment that shows these orders, else those it already shows, else all."""
    form = FormOptions(**ref.form)
    return shaped_ref(ref, replace(form, orders=orders or form.orders or ALL))


def shown_code(ref: EnvRef, model: WorkflowModel) -> OrderCode | None:
    """Return the code that the observations of an environment end with, if they show orders."""
    form = FormOptions(**ref.form)
    return OrderCode(form.order_code, len(model.units)) if form.orders else None


def drawn_orders(text: str, units: tuple[str, ...]) -> tuple[Order, ...]:
    """Return the orders that `orders` names: all, or some, each once."""
    if text == ALL:
        return all_orders(len(units))
    found = tuple(parse_order(part, units) for part in text.split(";"))
    if len(set(found)) < len(found):
        raise UsageError(f"orders is {text!r}; it names an order twice")
    return found


class EpisodeDraws:
    """What each episode is drawn to be, by env seed and number of the episode."""

    def __init__(self, model: WorkflowModel, options: FormOptions) -> None:
        self.code = OrderCode(options.order_code, len(model.units)) if options.orders else None
        orders = drawn_orders(options.orders, model.units) if options.orders else ()
        self._indices = np.array([order_index(order) for order in orders], dtype=np.int64)
        self._low, self._high = held_steps(options.hold)
        self._share = options.hold_share
        if self._high and model.idle is None:
            raise UsageError(
                "hold needs an environment whose workflow model names an idle action "
                "(WorkflowModel.idle)"
            )

    def bits(self, seeds: NDArray[np.uint64], episodes: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Return the code of the order of each of these episodes, one per row."""
        drawn = uniform_draws(seeds ^ _ORDER_STREAM, episodes) * self.count
        return self.bits_of(drawn.astype(np.int64))

    @property
    def count(self) -> int:
        """Return how many orders may be drawn."""
        return len(self._indices)

    def bits_of(self, orders: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the codes of some of the orders that may be drawn, by their position."""
        if self.code is None:
            return np.zeros((len(orders), 0), dtype=np.uint8)
        return self.code.table[self._indices[orders]]

    def held(self, seeds: NDArray[np.uint64], episodes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return for how many steps blue is held in each of these episodes."""
        if not self._high:
            return np.zeros(len(seeds), dtype=np.int64)
        drawn = uniform_draws(seeds ^ _HOLD_STREAM, episodes) * (self._high - self._low + 1)
        chosen = uniform_draws(seeds ^ _SHARE_STREAM, episodes) < self._share
        steps: NDArray[np.int64] = np.where(chosen, self._low + drawn.astype(np.int64), 0)
        return steps


def append_bits(obs: NDArray[Any], bits: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """Write flattened observations followed by the bits."""
    size = out.shape[1] - bits.shape[1]
    out[:, :size] = obs.reshape(len(obs), size)
    out[:, size:] = bits
