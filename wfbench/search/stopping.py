"""When the training of an order ends, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wfbench.contract import Policy, Rollout, UpdateStats
from wfbench.settings.config import RunConfig
from wfbench.store.events import BUDGET, COLLAPSED, COMPLIANT, HOPELESS, NOT_FINITE, THRESHOLD

from .budget import WorkflowBudget
from .episodes import Summary

_COLLAPSED = 3
"""Rollouts in a row with one and the same action after which a training is given up."""
_PROGRESS = 0.01
"""How much compliance must rise to count as progress."""


@dataclass(frozen=True)
class Ending:
    """How a workflow ended and what ended it."""

    status: str
    reason: str


class StopRule:
    """Decides when one workflow ends, and gives it up for these reasons.

    * `not-finite`: a statistic of an update, or a weight of the policy, is NaN or infinite;
    * `collapsed`: three rollouts in a row consist of one and the same action;
    * `no-progress`: `patience` episodes per env went by without compliance rising by 0.01.
    """

    def __init__(self, config: RunConfig, budget: WorkflowBudget) -> None:
        self._config = config
        self._budget = budget
        self._same = 0
        self._best = -math.inf
        self._best_at = 0
        self.reached_at: int | None = None
        """Environment steps after which compliance first reached the threshold."""

    def after_rollout(self, rollout: Rollout, judged: Summary, used: int) -> Ending | None:
        """Return how the training ends after this rollout; None if it goes on."""
        config, budget = self._config, self._budget
        enough = judged.episodes >= budget.n_envs
        if enough and judged.compliance >= config.threshold:
            if self.reached_at is None:
                self.reached_at = used
            if not config.joint and config.stop == COMPLIANT and used >= budget.min_steps:
                return Ending(COMPLIANT, THRESHOLD)
        first = rollout.actions.flat[0]
        self._same = self._same + 1 if (rollout.actions == first).all() else 0
        if self._same >= _COLLAPSED and used >= budget.min_steps:
            return Ending(HOPELESS, COLLAPSED)
        if self._stalled(judged, used):
            return Ending(HOPELESS, "no-progress")
        if budget.next_steps(used) < 1:
            return Ending(BUDGET, budget.limit)
        return None

    def after_update(self, stats: UpdateStats, policy: Policy) -> Ending | None:
        """Return how the training ends after an update; None if it goes on."""
        numbers = all(map(math.isfinite, stats.values.values()))
        arrays = policy.snapshot().arrays.values()
        weights = all(np.isfinite(a).all() for a in arrays if np.asarray(a).dtype.kind == "f")
        return None if numbers and weights else Ending(HOPELESS, NOT_FINITE)

    def _stalled(self, judged: Summary, used: int) -> bool:
        patience = 0 if self._config.joint else self._config.patience
        if not patience or math.isnan(judged.compliance):
            return False
        if judged.compliance >= self._best + _PROGRESS:
            self._best, self._best_at = judged.compliance, used
        waited = used - self._best_at
        return waited >= patience * self._budget.per_episode and used >= self._budget.min_steps
