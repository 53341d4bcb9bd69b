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
    """A definition, for one order, as the compiled passes read it."""

    rule: int
    idle: int
    only_ending: bool
    only_choices: bool
    masks: NDArray[np.uint32]
    """For each position the hosts that the definition looks at."""
    place: NDArray[np.int64]
    """As `Ranking.place`, -1 also for fixes that the definition ignores."""


@dataclass(frozen=True)
class Ranking:
    """Hosts and actions by the position that an order gives to their unit types."""

    place: NDArray[np.int64]
    """For each action the position of the type it fixes, or -1 if it is not a fix."""
    hosts: NDArray[np.uint32]
    """For each position the bits of the hosts of its type."""
    footholds: np.uint32
    host_bit: NDArray[np.uint32]
    """For each action the bit of the host whose sessions it can end; 0 for none."""

    def grader(self, definition: Definition) -> Grader:
        """Return the definition for this order."""
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


def rank(model: WorkflowModel, order: Order) -> Ranking:
    """Return the model as `order` ranks it."""
    check_order(order, len(model.units))
    if len(model.hosts) > MAX_HOSTS:
        raise UsageError(
            f"the workflow model has {len(model.hosts)} hosts; at most {MAX_HOSTS} are supported"
        )
    position = {unit: place for place, unit in enumerate(order)}
    hosts = np.zeros(len(order), dtype=np.uint32)
    for host, unit in enumerate(model.host_unit):
        hosts[position[unit]] |= np.uint32(1 << host)
    footholds = np.uint32(sum(1 << host for host in model.footholds))
    fixed = [0 if host < 0 else 1 << host for host in model.fix_host]
    return Ranking(
        place=np.array([position.get(unit, -1) for unit in model.fix_unit], dtype=np.int64),
        hosts=hosts,
        footholds=footholds,
        host_bit=np.array(fixed, dtype=np.uint32) & ~footholds,
    )
