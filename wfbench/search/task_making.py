"""Which orders are trained next, what each may cost, and which policy it starts from."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import Order, PluginError, Searcher, UsageError
from wfbench.orders import check_order, kendall
from wfbench.store.events import WorkflowFinished, WorkflowResult, WorkflowStarted, best_of
from wfbench.store.run import RunStore

from .budget import RunBudget, WorkflowBudget, workflow_budget
from .job import SearchJob, calling_searcher
from .phases import PhaseClock
from .playing import steps_to_play
from .tasks import TrainingTask


class TaskMaker:
    """Asks the searcher for a batch of orders and makes tasks of them.

    The most that each order may cost is reserved before the next one is granted, so that orders
    that are trained at the same time do not exceed the budget together. What they leave over is
    available to the next batch.
    """

    def __init__(
        self, job: SearchJob, store: RunStore, searcher: Searcher, clock: PhaseClock
    ) -> None:
        self._job = job
        self._store = store
        self._searcher = searcher
        self._clock = clock
        score, config = job.score, job.config
        self._to_score = (
            steps_to_play(score.count, config.n_envs, job.episode_steps) if score.evaluates else 0
        )

    def affordable(self, left: int | None) -> bool:
        """Tell whether the steps that are left suffice for one more order."""
        left = self._for_training(left)
        n_envs = self._job.cadence.n_envs or self._job.config.n_envs
        return left is None or left >= n_envs * self._job.episode_steps

    def make(self, finished: Sequence[WorkflowResult], left: int | None) -> list[TrainingTask]:
        """Return the next tasks: as many as are configured, offered and affordable."""
        job, first = self._job, len(finished)
        with self._clock.phase("search"), calling_searcher(job):
            granted: list[tuple[Order, WorkflowBudget]] = []
            for order in self._ask(min(job.batch, job.config.workflows - first)):
                if granted and not self.affordable(left):
                    break
                budget = self._grant(order, left)
                granted.append((order, budget))
                if left is not None:
                    left -= budget.max_steps + self._to_score
        batch = (first, len(granted))
        return [
            self._task(workflow, order, budget, finished, batch)
            for workflow, (order, budget) in enumerate(granted, start=first)
        ]

    def restore(self, budget: RunBudget) -> tuple[list[WorkflowFinished], list[TrainingTask]]:
        """Return the finished workflows, and the tasks of an interrupted batch left to do.

        The searcher knows afterwards what it had been told. A batch that was interrupted is asked
        for again, with the searcher in the state it had at that time, so that the same orders come.
        """
        job, store, entries = self._job, self._store, self._store.entries
        results = [e.event for e in entries if isinstance(e.event, WorkflowFinished)]
        if not results:
            return [], []
        best = best_of(results)
        if best is not None and store.best_workflow() != best.workflow:
            # The run was killed before it could write its policy.
            store.save_best(store.load_checkpoint(best.workflow).policy)
        last = [e.event for e in entries if isinstance(e.event, WorkflowStarted)][-1]
        whole = store.finished or len(results) == last.batch_first + last.batch_size
        known = len(results) if whole else last.batch_first
        if known:
            stored = store.load_checkpoint(known - 1)
            with calling_searcher(job):
                self._searcher.load(stored.searcher)
        if whole:
            return results, []
        told = results[known - 1] if known else None
        spent = next((e.env_steps_spent for e in entries if e.event is told), 0)
        tasks = self.make(results[:known], budget.steps_left(spent))
        for task, result in zip(tasks, results[known:], strict=False):
            if task.order != result.order:
                raise UsageError(
                    f"run {store.id} cannot be resumed: the searcher asked for "
                    f"{job.written(task.order)} where it had asked for "
                    f"{job.written(result.order)}; it needs the versions and plugins it was "
                    "started with"
                )
            with calling_searcher(job):
                self._searcher.tell(result.order, result.outcome())
        return results, tasks[len(results) - known :]

    def _ask(self, count: int) -> list[Order]:
        if count == 1:
            asked = [self._searcher.ask()]
        else:
            asked = list(self._searcher.ask_batch(count))  # type: ignore[attr-defined] # declared
            if not 1 <= len(asked) <= count:
                raise PluginError(f"asked for up to {count} orders, it gave {len(asked)}")
        return [check_order(tuple(order), len(self._job.model.units)) for order in asked]

    def _grant(self, order: Order, left: int | None) -> WorkflowBudget:
        job = self._job
        share, left = budget_share(self._searcher, order), self._for_training(left)
        return workflow_budget(job.config, job.cadence, job.episode_steps, share, left)

    def _task(
        self,
        workflow: int,
        order: Order,
        budget: WorkflowBudget,
        finished: Sequence[WorkflowResult],
        batch: tuple[int, int],
    ) -> TrainingTask:
        chosen, state = parent(self._job.config.inherit, order, finished), None
        if chosen is not None:
            with self._clock.phase("store"):
                state = self._store.load_checkpoint(chosen.workflow).trainer
        return TrainingTask(
            workflow=workflow,
            order=order,
            seed=purpose_seed(self._job.config.seed, Purpose.WORKFLOW, workflow),
            budget=budget,
            inherited_from=None if chosen is None else chosen.workflow,
            inherit=state,
            batch=batch,
        )

    def _for_training(self, left: int | None) -> int | None:
        return None if left is None else max(0, left - self._to_score)


def budget_share(searcher: Searcher, order: Order) -> float:
    """Return the part of a full budget that the searcher grants an order."""
    give = getattr(searcher, "budget", None)
    share = None if give is None else give(order)
    return 1.0 if share is None else float(share)


def parent(how: str, order: Order, finished: Sequence[WorkflowResult]) -> WorkflowResult | None:
    """Return the workflow to inherit from, or None to start from scratch.

    `nearest` is by Kendall distance; of several equally near, the most compliant and then the
    latest. A workflow whose training broke down is never inherited from.
    """
    sound = [result for result in finished if result.sound]
    if how == "none" or not sound:
        return None
    if how == "previous":
        return sound[-1]
    return min(sound, key=lambda r: (kendall(order, r.order), -r.compliance, -r.workflow))
