"""Shape a rollout's rewards by compliance, and grade its episodes.

The alignment reward is a telescoping potential: S is `weight` times the compliance so far, and
`weight * no_fix` before the first fix that counts; a step earns the change of S. So an episode's
alignment is exactly `weight * (compliance - no_fix)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, PluginError, Rollout, UsageError, WorkflowModel
from wfbench.orders import all_orders
from wfbench.orders.codes import OrderCode
from wfbench.orders.compliance.definitions import DEFAULT, SECONDARY, find_definition
from wfbench.orders.compliance.ranking import rank

NO_FIX = 0.5
"""The compliance of an episode without a counted fix."""

_ROUNDING = 1e-6
"""Room for several float32 roundings, relative to the sum of absolute values."""


class InvariantError(RuntimeError):
    """Shaped rewards do not add up: a bug in wfbench."""


@dataclass(frozen=True)
class Episodes:
    """The episodes that ended in a rollout, in the sequence of their environments' steps."""

    env_id: NDArray[np.int64]
    order: NDArray[np.int64]
    """The order in force: an index into `Shaper.orders`."""
    env_return: NDArray[np.float64]
    alignment: NDArray[np.float64]
    compliance: NDArray[np.float64]
    secondary: NDArray[np.float64]
    """Compliance by the secondary definition."""
    fixes: NDArray[np.int64]
    counted: NDArray[np.int64]
    """Fixes that the definition grades."""
    right: NDArray[np.int64]
    """Graded fixes that follow the order."""
    wasted: NDArray[np.int64]
    """Fixes that ended no session."""
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.env_id)

    def chosen(self, rows: NDArray[np.intp]) -> Episodes:
        """Return some of the episodes, in this sequence."""
        return Episodes(*[getattr(self, field.name)[rows] for field in fields(self)])

    @classmethod
    def joined(cls, parts: Sequence[Episodes]) -> Episodes:
        """Return the episodes of all parts, one after the other."""
        return cls(*[np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)])


@dataclass(frozen=True)
class Shaped:
    """A rollout's rewards with the alignment reward, and the episodes that ended in it."""

    rewards: NDArray[np.float32]
    """[T, N] environment plus alignment."""
    alignment: NDArray[np.float32]
    episodes: Episodes
    incomplete: int
    """Episodes that ended but are missing in `episodes`, because rows of them were lost."""


class Shaper:
    """Grades the rollouts of one collector by an order.

    With a code instead of an order, each row is graded by the order that its observation shows.
    `weight` may change between rollouts; an episode keeps the one it began with.

    Counters of unfinished episodes carry over to the next rollout, by environment. If rows of an
    environment are missing, or workers were restarted, the unfinished episode is left out.
    """

    def __init__(
        self,
        model: WorkflowModel,
        order: Order | OrderCode,
        *,
        definition: str = DEFAULT,
        secondary: str = SECONDARY,
        weight: float = 30.0,
        no_fix: float = NO_FIX,
    ) -> None:
        from wfbench.orders.compliance import kernel  # compiled code, loaded when first needed

        if not 0 <= weight < np.inf:
            raise UsageError(
                f"the alignment weight is {weight}; it must be finite and not negative"
            )
        if not 0 <= no_fix <= 1:
            raise UsageError(f"no_fix is {no_fix}; it must be between 0 and 1")
        self.definition = find_definition(definition)
        self.secondary = find_definition(secondary)
        self._code = order if isinstance(order, OrderCode) else None
        self.orders: tuple[Order, ...] = (
            all_orders(order.units) if isinstance(order, OrderCode) else (order,)
        )
        self.weight = float(weight)
        self.no_fix = float(no_fix)
        ranking = rank(model, *self.orders)
        self._kernel = kernel
        self._place = ranking.place
        self._graders = (ranking.grader(self.definition), ranking.grader(self.secondary))
        self.reset()

    def reset(self) -> None:
        """Discard every unfinished episode; the next rows begin new ones."""
        self._carry = np.zeros((0, len(self._kernel.Carry)))

    def shape(self, rollout: Rollout) -> Shaped:
        """Shape and grade the rows that follow those of the last call."""
        self._make_room(int(rollout.env_id.max()) + 1)
        if rollout.counters.restarts:
            self._break_episodes()
        shape = rollout.actions.shape
        orders = self._orders_of(rollout)
        room = int(np.count_nonzero(rollout.ended))
        results = self._kernel.Results(
            np.empty(shape, dtype=np.float32),
            np.empty(shape, dtype=np.float32),
            np.empty((room, len(self._kernel.Carry))),
            np.empty(room, dtype=np.int64),
        )
        bad, ends = self._kernel.shape_pass(
            np.lexsort((rollout.first_step, rollout.env_id)),
            rollout.env_id,
            rollout.first_step,
            self._kernel.Rows(*(getattr(rollout, name) for name in self._kernel.Rows._fields)),
            orders,
            self._place,
            self._graders,
            self.weight,
            self.no_fix,
            self._carry,
            results,
        )
        if bad != self._kernel.DONE:
            action = rollout.actions.ravel()[bad]
            raise PluginError(
                f"a rollout has action {action}, but the workflow model knows "
                f"{self._place.shape[1]} actions; collector and environment do not match"
            )
        last, column = np.divmod(results.cells[:ends], shape[1])
        # Stretches of one environment may stand in any columns, so rows do not tell the sequence.
        sequence = np.lexsort((column, rollout.first_step[column] + last))
        rows = results.finished[sequence]
        self._check(rows)
        whole = rows[:, self._kernel.Carry.BROKEN] == 0
        kept = sequence[whole]
        env_id, order = rollout.env_id[column[kept]], orders[last[kept], column[kept]]
        episodes = self._episodes(env_id, order, rows[whole])
        incomplete = int(ends - len(episodes))
        return Shaped(results.total, results.alignment, episodes, incomplete)

    def _orders_of(self, rollout: Rollout) -> NDArray[np.int64]:
        """Return the order in force in each row, an index into `orders`."""
        if self._code is None:
            # An array of its own, so that the compiled pass has one version for both.
            return np.zeros(rollout.actions.shape, dtype=np.int64)
        obs = rollout.obs.reshape(*rollout.actions.shape, -1)
        return self._code.decode(obs[..., -self._code.size :])

    def _make_room(self, envs: int) -> None:
        known, width = self._carry.shape
        if envs > known:
            fresh = np.zeros((envs, width))
            fresh[:, self._kernel.Carry.NEXT_STEP] = -1
            fresh[:known] = self._carry
            self._carry = fresh

    def _break_episodes(self) -> None:
        """Mark unfinished episodes as broken: nothing says which environments restarted."""
        column = self._kernel.Carry
        begun = self._carry[:, column.LENGTH] > 0
        self._carry[begun, : column.NEXT_STEP] = 0
        self._carry[begun, column.BROKEN] = 1

    def _episodes(
        self, env_id: NDArray[np.int64], order: NDArray[np.int64], rows: NDArray[np.float64]
    ) -> Episodes:
        column = self._kernel.Carry

        def count(of: int) -> NDArray[np.int64]:
            return rows[:, of].astype(np.int64)

        return Episodes(
            env_id=env_id,
            order=order,
            env_return=rows[:, column.ENV_RETURN],
            alignment=rows[:, column.ALIGNMENT],
            compliance=self._rate(rows, column.COMPLIANT),
            secondary=self._rate(rows, column.SECONDARY_COMPLIANT),
            fixes=count(column.FIXES),
            counted=count(column.COUNTED),
            right=count(column.COMPLIANT),
            wasted=count(column.WASTED),
            length=count(column.LENGTH),
        )

    def _rate(self, rows: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Return the compliance from the three counters that begin in column `first`."""
        compliant, counted, forced = rows[:, first : first + 3].T
        ungraded = np.where(forced > 0, 1.0, self.no_fix)
        rate: NDArray[np.float64] = np.where(
            counted > 0, compliant / np.maximum(counted, 1), ungraded
        )
        return rate

    def _check(self, rows: NDArray[np.float64]) -> None:
        """Check that alignment telescopes and that the total is environment plus alignment."""
        column = self._kernel.Carry
        compliance = self._rate(rows, column.COMPLIANT)
        alignment, env_return = rows[:, column.ALIGNMENT], rows[:, column.ENV_RETURN]
        weight = rows[:, column.WEIGHT]
        slack = _ROUNDING * (1 + weight + rows[:, column.MAGNITUDE])
        telescoped = np.abs(alignment - weight * (compliance - self.no_fix))
        summed = np.abs(rows[:, column.TOTAL] - env_return - alignment)
        if (telescoped > slack).any() or (summed > slack).any():
            raise InvariantError(
                f"episode rewards do not add up: off by {telescoped.max()} in the alignment and "
                f"by {summed.max()} in the total"
            )
