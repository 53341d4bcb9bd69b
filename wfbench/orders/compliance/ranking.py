"""A workflow model as an order ranks it: the arrays that the compiled passes read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, UsageError, WorkflowModel
from wfbench.orders import check_order
from wfbench.orders.compliance.definitions import Definition

MAX_HOSTS = 32


class Grader(NamedTuple):
    """A definition, for one or several orders, as the compiled passes read it."""

    rule: int
    idle: int
    only_ending: bool
    only_choices: bool
    masks: NDArray[np.uint32]
    """[order, position] the hosts that the definition looks at."""
    place: NDArray[np.int64]
    """As `Ranking.place`, -1 also for fixes that the definition ignores."""


@dataclass(frozen=True)
class Ranking:
    """Hosts and actions by the position that each order gives to their unit types."""

    place: NDArray[np.int64]
    """[order, action] the position of the type it fixes, or -1 if it is not a fix."""
    hosts: NDArray[np.uint32]
    """[order, position] the bits of the hosts of its type."""
    footholds: np.uint32
    host_bit: NDArray[np.uint32]
    """For each action the bit of the host whose sessions it can end; 0 for none."""

    def grader(self, definition: Definition) -> Grader:
        """Return the definition for these orders."""
        return Grader(
            int(definition.rule),
            int(definition.idle),
            definition.only_ending,
            definition.only_choices,
            self.hosts & ~self.footholds if definition.ignore_footholds else self.hosts,
            self.place
            if definition.foothold_targets
            else np.where(self.host_bit == 0, -1, self.place),
        )


def rank(model: WorkflowModel, *orders: Order) -> Ranking:
    """Return the model as each of these orders ranks it."""
    if len(model.hosts) > MAX_HOSTS:
        raise UsageError(
            f"the workflow model has {len(model.hosts)} hosts; at most {MAX_HOSTS} are supported"
        )
    units = len(model.units)
    positions = np.array([np.argsort(check_order(order, units)) for order in orders])
    of_unit = np.zeros(units, dtype=np.uint32)
    for host, unit in enumerate(model.host_unit):
        of_unit[unit] |= np.uint32(1 << host)
    fix_unit = np.array(model.fix_unit, dtype=np.int64)
    footholds = np.uint32(sum(1 << host for host in model.footholds))
    fixed = [0 if host < 0 else 1 << host for host in model.fix_host]
    return Ranking(
        # Row by row for any number of orders: the compiled pass has a version for each layout.
        place=np.where(fix_unit < 0, -1, positions.take(fix_unit, axis=1)),
        hosts=of_unit[np.array(orders)],
        footholds=footholds,
        host_bit=np.array(fixed, dtype=np.uint32) & ~footholds,
    )
