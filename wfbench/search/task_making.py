"""Which orders are trained next, what each may cost, and which policy it starts from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import Order, PluginError, Searcher, UsageError
from wfbench.orders import check_order, kendall
from wfbench.store.events import (
    COLLAPSED,
    FREE,
    JOINT,
    ORDER,
    SPECIAL,
    WorkflowFinished,
    WorkflowResult,
    WorkflowStarted,
    best_of,
)
from wfbench.store.run import RunStore
from wfbench.store.sweeps import NORMAL

from .budget import RunBudget, WorkflowBudget, granted_episodes, workflow_budget
from .history import load_sweeps
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
        self._prior_given = False
        self._all_orders = len(job.drawn_orders) if job.config.joint else 1
        self._shared = job.config.training_seeds + job.config.free if job.config.joint else 0
        self._to_score = _steps_to_score(job)

    def affordable(self, left: int | None, done: int) -> bool:
        """Tell whether the steps that are left suffice for the training that follows so many."""
        left = self._for_training(left, alone=done >= self._shared)
        n_envs = self._job.cadence.n_envs or self._job.config.n_envs
        return left is None or left >= n_envs * self._job.episode_steps

    def stages(self) -> dict[str, dict[str, int]]:
        """Return the trainings of each stage of a joint run, and what each costs at most."""
        job, config = self._job, self._job.config
        if not config.joint:
            return {}
        every = self._to_score * self._all_orders
        planned = (
            (JOINT, config.training_seeds, config.joint_episodes, every),
            (FREE, config.free, config.joint_episodes, every),
            (SPECIAL, config.specialise, config.max_episodes, self._to_score),
        )
        return {
            stage: {
                "trainings": trainings,
                "steps": workflow_budget(
                    config, job.cadence, job.episode_steps, episodes, None
                ).max_steps,
                "evaluation_steps": evaluation,
            }
            for stage, trainings, episodes, evaluation in planned
            if trainings
        }

    def make(self, finished: Sequence[WorkflowResult], left: int | None) -> list[TrainingTask]:
        """Return the next tasks: as many as are configured, offered and affordable."""
        job, first = self._job, len(finished)
        with self._clock.phase("search"), calling_searcher(job):
            granted: list[tuple[str, Order, WorkflowBudget]] = []
            for stage, order in self._wanted(finished):
                if granted and not self.affordable(left, first + len(granted)):
                    break
                budget = self._grant(order, left)
                granted.append((stage, order, budget))
                if left is not None:
                    left -= budget.max_steps + self._to_evaluate(alone=bool(order))
        batch = (first, len(granted))
        return [
            self._task(workflow, stage, order, budget, finished, batch)
            for workflow, (stage, order, budget) in enumerate(granted, start=first)
        ]

    def _wanted(self, finished: Sequence[WorkflowResult]) -> list[tuple[str, Order]]:
        """Return what is trained next: the joint policies, then what the searcher asks for."""
        job, first = self._job, len(finished)
        config, count = job.config, min(job.batch, job.workflows - first)
        if not config.joint:
            return [(ORDER, order) for order in self._ask(count)]
        shared: list[tuple[str, Order]] = [(JOINT, ())] * config.training_seeds
        shared += [(FREE, ())] * config.free
        if first < len(shared):
            return shared[first : first + job.batch]
        self._give_prior(finished)
        asked = self._ask(count)
        for order in asked:
            if order not in job.drawn_orders:
                raise UsageError(
                    f"searcher {job.searcher.spec.name!r} asked for {job.written(order)}, which "
                    "was not trained; leave the environment's option orders out"
                )
        return [(SPECIAL, order) for order in asked]

    def _give_prior(self, finished: Sequence[WorkflowResult]) -> None:
        """Tell a searcher that can use it how well the joint policies do under each order."""
        take = getattr(self._searcher, "prior", None)
        if take is not None and not self._prior_given:
            joint = [one for one in finished if one.stage == JOINT and one.swept]
            if not joint:
                return
            sweeps = [load_sweeps(self._store.path, one)[NORMAL] for one in joint]
            scores = np.mean([sweep.env_return.mean(axis=1) for sweep in sweeps], axis=0)
            take(dict(zip(sweeps[0].orders, scores.tolist(), strict=True)))
            self._prior_given = True

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
        if results[-1].stage == SPECIAL:
            written = job.written(results[-1].order)
            store.save_policy(written, store.load_checkpoint(results[-1].workflow).policy)
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
        if any(result.stage == SPECIAL for result in results):
            self._give_prior(results)
        for task, result in zip(tasks, results[known:], strict=False):
            if task.order != result.order:
                raise UsageError(
                    f"run {store.id} cannot be resumed: the searcher asked for "
                    f"{job.written(task.order)} where it had asked for "
                    f"{job.written(result.order)}; it needs the versions and plugins it was "
                    "started with"
                )
            tell(job, self._searcher, result)
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
        job, left = self._job, self._for_training(left, alone=bool(order))
        share = budget_share(self._searcher, order) if order else 1.0
        full = job.config.max_episodes if order else job.config.joint_episodes
        episodes = granted_episodes(full, share)
        return workflow_budget(job.config, job.cadence, job.episode_steps, episodes, left)

    def _task(
        self,
        workflow: int,
        stage: str,
        order: Order,
        budget: WorkflowBudget,
        finished: Sequence[WorkflowResult],
        batch: tuple[int, int],
    ) -> TrainingTask:
        chosen, state = self._parent(stage, order, finished), None
        if chosen is not None:
            with self._clock.phase("store"):
                state = self._store.trainer_state(chosen.workflow)
        return TrainingTask(
            workflow=workflow,
            order=order,
            seed=purpose_seed(self._job.config.seed, Purpose.WORKFLOW, workflow),
            budget=budget,
            stage=stage,
            inherited_from=None if chosen is None else chosen.workflow,
            inherit=state,
            batch=batch,
        )

    def _parent(
        self, stage: str, order: Order, finished: Sequence[WorkflowResult]
    ) -> WorkflowResult | None:
        if stage == SPECIAL:
            return next((one for one in finished if one.stage == JOINT and one.sound), None)
        return parent(self._job.config.inherit, order, finished) if order else None

    def _for_training(self, left: int | None, *, alone: bool) -> int | None:
        return None if left is None else max(0, left - self._to_evaluate(alone=alone))

    def _to_evaluate(self, *, alone: bool) -> int:
        """Return the environment steps that evaluating a policy takes, under one order or all."""
        return self._to_score * (1 if alone else self._all_orders)


def _steps_to_score(job: SearchJob) -> int:
    """Return the environment steps that scoring one order takes."""
    if job.config.joint:
        return sum(plan.env_steps for plan in job.sweep_plans(0).values())
    score = job.score
    if not score.evaluates:
        return 0
    return steps_to_play(score.count, job.config.n_envs, job.episode_steps)


def tell(job: SearchJob, searcher: Searcher, result: WorkflowResult) -> None:
    """Tell the searcher how an order that it asked for turned out."""
    if result.order:
        with calling_searcher(job):
            searcher.tell(result.order, result.outcome())


def budget_share(searcher: Searcher, order: Order) -> float:
    """Return the part of a full budget that the searcher grants an order."""
    give = getattr(searcher, "budget", None)
    share = None if give is None else give(order)
    return 1.0 if share is None else float(share)


def parent(how: str, order: Order, finished: Sequence[WorkflowResult]) -> WorkflowResult | None:
    """Return the workflow to inherit from, or None to start from scratch.

    `nearest` is by Kendall distance; of several equally near, the most compliant and then the
    latest. A workflow whose training broke down or collapsed is never inherited from. An order that
    is trained again starts from where its first training started, not from its own result: else
    the two would say nothing about how far trainings lie apart.
    """
    before = [result for result in finished if result.order == order]
    if before:
        return None if before[0].inherited_from is None else finished[before[0].inherited_from]
    sound = [result for result in finished if result.sound and result.reason != COLLAPSED]
    if how == "none" or not sound:
        return None
    if how == "previous":
        return sound[-1]

    def distance(result: WorkflowResult) -> tuple[float, float, int]:
        compliance = 0.0 if math.isnan(result.compliance) else result.compliance
        return kendall(order, result.order), -compliance, -result.workflow

    return min(sound, key=distance)
