"""A workflow model seen through an order: what the compiled passes look things up in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.compliance.definitions import Definition
from wfbench.contract import Order, UsageError, WorkflowModel
from wfbench.orders import check_order

MAX_HOSTS = 32


class Judge(NamedTuple):
    """A definition as the compiled judge reads it."""

    flags: NDArray[np.int64]
    """As `kernel.Flag` names them."""
    masks: NDArray[np.uint32]
    """The hosts of each position that the definition looks at."""
    place: NDArray[np.int64]
    """As `Ranking.place`, without the fixes that are none by the definition."""


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

    def judge(self, definition: Definition) -> Judge:
        """The definition, for this order."""
        masks = self.hosts & ~self.footholds if definition.ignore_footholds else self.hosts
        place = self.place
        if not definition.foothold_targets:
            place = np.where(self.host_bit == 0, -1, place)
        flags = [definition.rule, definition.idle, definition.only_ending, definition.only_choices]
        return Judge(np.array(flags, dtype=np.int64), masks, place)


def rank(model: WorkflowModel, order: Order) -> Ranking:
    """The model as `order` ranks it."""
    check_order(order, len(model.units))
    if len(model.hosts) > MAX_HOSTS:
        raise UsageError(f"the workflow model has {len(model.hosts)} hosts; {MAX_HOSTS} fit a mask")
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
