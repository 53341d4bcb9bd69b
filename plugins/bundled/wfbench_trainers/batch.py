"""The data of one update: transitions, grouped by distinct observation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Rollout
from wfbench.policies.distinct import distinct_rows

from .grouping import Groups, group_rows
from .layouts import Floats
from .objective import Transitions


@dataclass(frozen=True)
class Batch:
    """`rows` are the observations the actor is run on, `data` the transitions, by row.

    Running the networks on `rows` gives the same loss and gradient as running them on every
    transition, up to the order of summation.
    """

    rows: Floats
    """[U, observation]."""
    value_rows: Floats
    """[V, input] the critic's; the same as `rows` unless it sees more."""
    data: Transitions

    @cached_property
    def groups(self) -> tuple[Groups, Groups]:
        """Return all transitions by row of the actor and by row of the critic."""
        return self.grouped(np.arange(len(self.data)))

    def grouped(self, chosen: NDArray[np.int64]) -> tuple[Groups, Groups]:
        """Return some transitions by row of the actor and by row of the critic."""
        by_row = group_rows(self.data.row, chosen, len(self.rows))
        if self.value_rows is self.rows:
            return by_row, by_row
        return by_row, group_rows(self.data.value_row, chosen, len(self.value_rows))

    def part(self, chosen: NDArray[np.int64]) -> Batch:
        """Return some of the transitions with only the rows they need."""
        row, rows = _used(self.data.row[chosen], self.rows)
        if self.value_rows is self.rows:
            value_row, value_rows = row, rows
        else:
            value_row, value_rows = _used(self.data.value_row[chosen], self.value_rows)
        data = Transitions(
            row,
            value_row,
            self.data.action[chosen],
            self.data.old_log_probs[chosen],
            self.data.fresh[chosen],
        )
        return Batch(rows, value_rows, data)


def _used(row: NDArray[np.int64], rows: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows that are used, and the new number of each transition's row."""
    used = np.zeros(len(rows), dtype=np.bool_)
    used[row] = True
    number = np.cumsum(used) - 1
    return number[row], rows[used]


def make_batch(
    rollout: Rollout,
    version: int,
    *,
    distinct: bool,
    seen: NDArray[Any] | None = None,
) -> Batch:
    """Return the batch of a rollout, transitions in row-major order of [T, N].

    `seen` is what the critic sees in each transition, if that is not the observation.
    """
    row, rows = _grouped(rollout.obs.reshape(rollout.transitions, -1), distinct=distinct)
    value_row, value_rows = row, rows
    if seen is not None:
        value_row, value_rows = _grouped(seen, distinct=distinct)
    fresh = np.broadcast_to(rollout.policy_version == version, rollout.actions.shape)
    data = Transitions(
        row=row,
        value_row=value_row,
        action=rollout.actions.reshape(-1),
        old_log_probs=rollout.log_probs.reshape(-1),
        fresh=fresh.reshape(-1),
    )
    return Batch(rows, value_rows, data)


def _grouped(inputs: NDArray[Any], *, distinct: bool) -> tuple[NDArray[np.int64], Floats]:
    """Return each transition's row, and the rows: distinct ones, or all."""
    first, row = distinct_rows(inputs) if distinct else (np.arange(len(inputs)),) * 2
    return row, network_inputs(inputs[first])


def network_inputs(obs: NDArray[Any]) -> Floats:
    """Return observations as the networks take them."""
    return obs.reshape(len(obs), -1).astype(np.float32)
