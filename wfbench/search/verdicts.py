"""When the training of an order ends, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wfbench.config import RunConfig
from wfbench.contract import Policy, Rollout, UpdateStats

from .budget import WorkflowBudget
from .episodes import Summary
from .results import BUDGET, COMPLIANT, HOPELESS

_COLLAPSED = 3
"""Rollouts in a row in which every env did the same single action before it is given up."""
_PROGRESS = 0.01
"""How much better compliance must be to count as progress."""


@dataclass(frozen=True)
class Verdict:
    """How a workflow ended and what ended it."""

    status: str
    reason: str


class Judge:
    """Watches one workflow, and gives it up by these rules.

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

    def after_rollout(self, rollout: Rollout, judged: Summary, used: int) -> Verdict | None:
        """The verdict on the policy that made this rollout; None: go on."""
        config, budget = self._config, self._budget
        enough = judged.episodes >= budget.n_envs
        if enough and judged.compliance >= config.threshold:
            if self.reached_at is None:
                self.reached_at = used
            if config.stop == COMPLIANT and used >= budget.min_steps:
                return Verdict(COMPLIANT, "threshold")
        first = rollout.actions.flat[0]
        self._same = self._same + 1 if (rollout.actions == first).all() else 0
        if self._same >= _COLLAPSED and used >= budget.min_steps:
            return Verdict(HOPELESS, "collapsed")
        if self._stalled(judged, used):
            return Verdict(HOPELESS, "no-progress")
        if budget.next_steps(used) < 1:
            return Verdict(BUDGET, budget.limit)
        return None

    def after_update(self, stats: UpdateStats, policy: Policy) -> Verdict | None:
        """The verdict on a policy that has not acted yet; None: go on."""
        numbers = all(map(math.isfinite, stats.values.values()))
        arrays = policy.snapshot().arrays.values()
        weights = all(np.isfinite(a).all() for a in arrays if np.asarray(a).dtype.kind == "f")
        return None if numbers and weights else Verdict(HOPELESS, "not-finite")

    def _stalled(self, judged: Summary, used: int) -> bool:
        patience = self._config.patience
        if not patience or math.isnan(judged.compliance):
            return False
        if judged.compliance >= self._best + _PROGRESS:
            self._best, self._best_at = judged.compliance, used
        waited = used - self._best_at
        return waited >= patience * self._budget.per_episode and used >= self._budget.min_steps
