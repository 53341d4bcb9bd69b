"""Which orders are trained next, together, and what each may cost."""

from __future__ import annotations

from wfbench.contract import Order, PluginError, Searcher
from wfbench.orders import check_order

from .budget import WorkflowBudget, workflow_budget
from .job import SearchJob
from .playing import steps_to_play


class Asker:
    """Asks a searcher for a batch of orders; `left` are the steps the run may still spend.

    The most that each order may cost is set aside before the next one is granted, so that orders
    which are trained at the same time do not overshoot together. What they leave over is there
    again for the next batch.
    """

    def __init__(self, job: SearchJob, searcher: Searcher, left: int | None) -> None:
        self._job = job
        self._searcher = searcher
        self._left = left
        score, config = job.score, job.config
        self._to_score = (
            steps_to_play(score.count, config.n_envs, job.episode_steps) if score.evaluates else 0
        )

    def affordable(self) -> bool:
        """Whether there are steps for one more order."""
        left = self._for_training()
        n_envs = self._job.cadence.n_envs or self._job.config.n_envs
        return left is None or left >= n_envs * self._job.episode_steps

    def ask(self, finished: int) -> list[tuple[Order, WorkflowBudget]]:
        """Orders with their budgets: as many as are configured, asked for and affordable."""
        job = self._job
        granted: list[tuple[Order, WorkflowBudget]] = []
        for order in self._orders(min(job.batch, job.config.workflows - finished)):
            if granted and not self.affordable():
                break
            granted.append((order, self._grant(order)))
        return granted

    def _orders(self, count: int) -> list[Order]:
        if count == 1:
            asked = [self._searcher.ask()]
        else:
            asked = list(self._searcher.ask_batch(count))  # type: ignore[attr-defined] # declared
            if not 1 <= len(asked) <= count:
                raise PluginError(f"asked for up to {count} orders, it gave {len(asked)}")
        return [check_order(tuple(order), len(self._job.model.units)) for order in asked]

    def _grant(self, order: Order) -> WorkflowBudget:
        job = self._job
        give = getattr(self._searcher, "budget", None)
        share = give(order) if give is not None else None
        budget = workflow_budget(
            job.config,
            job.cadence,
            job.episode_steps,
            1.0 if share is None else float(share),
            self._for_training(),
        )
        if self._left is not None:
            self._left -= budget.max_steps + self._to_score
        return budget

    def _for_training(self) -> int | None:
        return None if self._left is None else max(0, self._left - self._to_score)
