"""One search: which orders are trained next, and what is kept of their training."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import CollectError, Searcher, SearcherSetup
from wfbench.orders import kendall
from wfbench.orders.compliance import constant_warning
from wfbench.store.events import (
    SPECIAL,
    RunFinished,
    RunResumed,
    RunStarted,
    RunWarning,
    UpdateFinished,
    WorkerLost,
    WorkflowFailed,
    WorkflowFinished,
    WorkflowResult,
    WorkflowStarted,
    best_of,
    better,
)
from wfbench.store.policy_file import Checkpoint, PolicyLabel, StoredPolicy
from wfbench.store.run import RunStore
from wfbench.store.sweeps import Sweep

from .budget import Pace, RunBudget, time_for
from .conclusion import Findings
from .history import RecordedSearch, load_sweeps, recorded
from .job import SearchJob, calling_searcher
from .planning import KINDS
from .recording import Observer, Recorder
from .task_making import TaskMaker, tell
from .tasks import Failure, Trained, TrainingTask, Update


class Search:
    """One search in one run directory.

    The engine asks for tasks with `ask`, announces each with `start` when its training begins, and
    passes on with `receive` what the training yields. Tasks may be trained at the same time and
    end in any sequence; they are recorded one after the other.
    """

    def __init__(self, job: SearchJob, store: RunStore, observers: Sequence[Observer] = ()) -> None:
        self.job = job
        self.store = store
        self.finished: list[WorkflowFinished] = []
        self._recorder = Recorder(store, observers)
        steps = job.config.total_episodes * job.episode_steps
        self._budget = RunBudget(steps, job.config.max_seconds)
        self._pace = Pace()
        self._asked: dict[int, TrainingTask] = {}
        self._unfinished: list[TrainingTask] = []
        self._received: dict[int, deque[Update | Trained | Failure]] = {}
        self._announced = -1
        self._late = False
        self._sweeps: dict[int, Mapping[str, Sweep]] = {}

    @property
    def best(self) -> WorkflowFinished | None:
        """Return the best workflow so far."""
        return best_of(self.finished)

    def recorded(self) -> RecordedSearch:
        """Return what was recorded so far, as a reader of the run directory would see it."""
        return recorded(self.store)

    def begin(self) -> None:
        """Start, or resume after the workflows that had finished."""
        with self._recorder.working():
            seed = purpose_seed(self.job.config.seed, Purpose.SEARCHER)
            setup = SearcherSetup(len(self.job.model.units), seed)
            with self._recorder.clock.phase("search"), calling_searcher(self.job):
                self.searcher: Searcher = self.job.searcher.build(setup)
            self._maker = TaskMaker(self.job, self.store, self.searcher, self._recorder.clock)
            started = self._described()
            if self.store.entries:
                self.finished, self._unfinished = self._maker.restore(self._budget)
                self._recorder.notify(RunResumed(**vars(started), finished=len(self.finished)))
            else:
                self._recorder.record(started)

    def ask(self) -> list[TrainingTask]:
        """Return the tasks to train next: none while others are not done, or at the end."""
        if self.store.finished or self._asked:
            return []
        with self._recorder.working():
            tasks, self._unfinished = self._unfinished, []
            if not tasks:
                reason = self._spent()
                if reason is not None:
                    self._finish(reason)
                    return []
                left = self._budget.steps_left(self._recorder.env_steps_spent)
                tasks = self._maker.make(self.finished, left)
        self._asked = {task.workflow: task for task in tasks}
        return tasks

    def start(self, task: TrainingTask) -> TrainingTask | None:
        """Return the task as it is to be trained now; None if no time is left for it.

        Retrying a lost task starts here, too. Every start is followed by a `stop`.
        """
        with self._recorder.working():
            left = self._seconds_left()
            if self._late or not time_for(self._pace.to_begin(), left):
                self._late = True
                self._asked = {n: t for n, t in self._asked.items() if n < task.workflow}
                return None
            self._received[task.workflow] = deque()
            self._record_received()
        self._recorder.start()
        until = None if left is None else time.time() + left
        return replace(task, pace=self._pace, until=until)

    def stop(self) -> None:
        """Note that a training that was started has ended or was lost."""
        self._recorder.stop()

    def receive(self, task: TrainingTask, value: Update | Trained | Failure) -> None:
        """Take what a training yielded; it is recorded when its turn has come."""
        with self._recorder.working():
            self._received[task.workflow].append(value)
            self._record_received()

    def lost(self, task: TrainingTask, cause: str) -> None:
        """Tell observers that a task is retried because its worker died."""
        with self._recorder.working():
            self._recorder.notify(self._failure(WorkerLost, task, cause))

    def fail(self, task: TrainingTask, cause: str) -> None:
        """Record that a task failed; the run stops here and can be resumed."""
        with self._recorder.working():
            self._recorder.record(self._failure(WorkflowFailed, task, cause))

    def _record_received(self) -> None:
        """Record what came from the workflow whose turn it is, and from those that follow."""
        while (number := len(self.finished)) in self._received and number in self._asked:
            task, values = self._asked[number], self._received[number]
            if self._announced < number:
                self._announced = number
                self._record_start(task)
            while values:
                self._record_value(task, values.popleft())
            if number == len(self.finished):
                return
            del self._asked[number], self._received[number]

    def _record_value(self, task: TrainingTask, value: Update | Trained | Failure) -> None:
        if isinstance(value, Update):
            self._recorder.env_steps_spent += value.event.transitions
            self._recorder.record(value.event, value.lap)
        elif isinstance(value, Trained):
            self._record_result(value)
        else:
            if isinstance(value.error, CollectError):
                self._recorder.record(self._failure(WorkflowFailed, task, str(value.error)))
            raise value.error

    def _failure(
        self, kind: type[WorkflowFailed], task: TrainingTask, cause: str
    ) -> WorkflowFailed:
        return kind(task.workflow, task.order, self.job.definition, cause)

    def _record_start(self, task: TrainingTask) -> None:
        parent, distance = task.inherited_from, None
        # Neither may be of all orders.
        if parent is not None and task.order and self.finished[parent].order:
            distance = kendall(task.order, self.finished[parent].order)
        self._recorder.record(
            WorkflowStarted(
                workflow=task.workflow,
                order=task.order,
                definition=self.job.definition,
                seed=task.seed,
                batch_first=task.batch[0],
                batch_size=task.batch[1],
                inherited_from=parent,
                distance=distance,
                budget_steps=task.budget.max_steps,
                n_envs=task.budget.n_envs,
                steps_per_update=task.budget.steps,
                stage=task.stage,
            )
        )

    def _record_result(self, trained: Trained) -> None:
        job, clock = self.job, self._recorder.clock
        with clock.phase("search"):
            self._sweeps[trained.result.workflow] = trained.sweeps
            says = self._findings(trained.result).sentences() if trained.sweeps else ()
        result = WorkflowFinished(
            **vars(trained.result),
            **job.definitions,
            best=better(trained.result, self.best),
            says=says,
        )
        self._recorder.env_steps_spent += result.evaluation_steps
        self._pace = trained.pace
        with clock.phase("search"):
            tell(job, self.searcher, result)
            with calling_searcher(job):
                state = dict(self.searcher.state())
        self.finished.append(result)
        if trained.sweeps:
            with clock.phase("store"):
                self.store.save_sweeps(result.workflow, trained.sweeps)
        policy = StoredPolicy(trained.policy, self._label(trained))
        with clock.phase("store"):
            self.store.save_checkpoint(Checkpoint(result.workflow, trained.state, policy, state))
        self._recorder.record(result, trained.lap, trained.seconds)
        with clock.phase("store"):
            if result.best:
                self.store.save_best(policy)
            if result.stage == SPECIAL:
                self.store.save_policy(job.written(result.order), policy)

    def _findings(self, *more: WorkflowResult) -> Findings:
        """Return the trainings so far with their sweeps, those of a resumed run from its files."""
        results = [*self.finished, *more]
        for result in self.finished:
            if result.workflow not in self._sweeps:
                self._sweeps[result.workflow] = load_sweeps(self.store.path, result)
        return Findings(
            self.job.model.units,
            self.job.config.threshold,
            self.job.config.stress,
            tuple((result, self._sweeps.get(result.workflow, {})) for result in results),
        )

    def _label(self, trained: Trained) -> PolicyLabel:
        job, result = self.job, trained.result
        return PolicyLabel(
            order=result.order,
            units=job.model.units,
            env=job.env.spec.name,
            env_options=job.trained_options(result.order),
            obs_shape=trained.info.obs_shape,
            num_actions=trained.info.num_actions,
            definition=job.definition,
            trainer=job.trainer.label,
            run=self.store.id,
            workflow=result.workflow,
            score=result.score if math.isfinite(result.score) else None,
            compliance=result.compliance if math.isfinite(result.compliance) else None,
            stage=result.stage,
        )

    def _spent(self) -> str | None:
        """Return why no further workflow is begun; None while there is budget for one."""
        if len(self.finished) >= self.job.workflows:
            return "workflows"
        left = self._budget.steps_left(self._recorder.env_steps_spent)
        if not self._maker.affordable(left, len(self.finished)):
            return "total-episodes"
        if self._late or not time_for(self._pace.to_begin(), self._seconds_left()):
            return "wall-time"
        return None

    def _seconds_left(self) -> float | None:
        return self._budget.seconds_left(self._recorder.limited)

    def _finish(self, reason: str) -> None:
        events = (entry.event for entry in self.store.entries)
        compliances = [one.compliance for one in events if isinstance(one, UpdateFinished)]
        warning = constant_warning(compliances, self.job.definition)
        if warning is not None:
            self._recorder.record(RunWarning(warning))
        best = None if self.best is None else self.best.workflow
        compliant = sum(result.compliant for result in self.finished)
        self._recorder.record(RunFinished(reason, len(self.finished), compliant, best))

    def _described(self) -> RunStarted:
        job = self.job
        return RunStarted(
            run=self.store.id,
            seed=job.config.seed,
            **{kind: getattr(job, kind).label for kind in KINDS},
            **job.definitions,
            units=job.model.units,
            workflows=job.workflows,
            episode_steps=job.episode_steps,
            batch=job.batch,
            stages=self._maker.stages(),
        )
