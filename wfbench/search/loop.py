"""One search: which orders are trained next, and what is kept of their training; resumable."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from wfbench.compliance import constant_warning
from wfbench.contract import CollectError, Order, Searcher, SearcherSetup, UsageError
from wfbench.orders import kendall, order_index
from wfbench.seeding import Purpose, purpose_seed
from wfbench.store.checkpoint import Checkpoint
from wfbench.store.event_log import SCHEMA
from wfbench.store.policy_file import PolicyLabel, StoredPolicy
from wfbench.store.run import RunStore

from .asking import Asker
from .budget import Ledger, Pace, time_for
from .inheriting import parent
from .job import SearchJob, calling
from .phases import PhaseClock, Stopwatch, added
from .results import WorkflowResult, better
from .tasks import Failure, Task, Trained, Update
from .training import train

Observer = Callable[[Mapping[str, Any]], None]
"""Told of every event, after it was stored, and of `run-resumed` and `worker-lost`, which are not
stored. `event` says what happened."""


class Search:
    """One search in one run directory.

    Whoever runs it asks for tasks with `ask`, announces each with `start` when its training begins,
    and passes on with `hear` what the training yields. Tasks may be trained at the same time and
    end in any order; they are recorded one after the other.
    """

    def __init__(self, job: SearchJob, store: RunStore, observers: Sequence[Observer] = ()) -> None:
        self.job = job
        self.store = store
        self.finished: list[WorkflowResult] = []
        self._observers = tuple(observers)
        self._clock = PhaseClock()
        self._watch = Stopwatch()
        steps = job.config.total_episodes * job.episode_steps
        self._ledger = Ledger(steps, job.config.max_seconds)
        self._compliances: list[float] = []
        self._pace = Pace()
        self._searcher: Searcher | None = None
        self._asked: dict[int, Task] = {}
        self._left_over: list[Task] = []
        self._heard: dict[int, deque[Update | Trained | Failure]] = {}
        self._announced = -1
        self._late = False
        self.ended = store.finished
        """Whether the run is complete."""
        self.seconds: dict[str, float] = {}
        """Seconds of work by phase of everything that was told, and `wall`, their sum."""

    @property
    def best(self) -> WorkflowResult | None:
        """The best workflow so far."""
        found: WorkflowResult | None = None
        for result in self.finished:
            if better(result, found):
                found = result
        return found

    @property
    def env_steps(self) -> int:
        """Environment steps spent so far, on training and on evaluation."""
        return self._ledger.steps

    @property
    def elapsed(self) -> float:
        """Seconds that went by while something of this search was going on."""
        return self._ledger.seconds_before + self._watch.elapsed()

    @property
    def searcher(self) -> Searcher:
        """The searcher, once the search has begun."""
        if self._searcher is None:
            raise UsageError("the search has not begun")
        return self._searcher

    def begin(self) -> None:
        """Start, or take up what finished workflows left."""
        with self._working():
            with self._clock.phase("search"), self._calling_searcher():
                config = self.job.config
                setup = SearcherSetup(
                    num_units=len(self.job.model.units),
                    seed=purpose_seed(config.seed, Purpose.SEARCHER),
                )
                self._searcher = self.job.searcher.build(setup)
            if self.store.events:
                self._take_up(self.store.events)
                self._pass_on(
                    {
                        "event": "run-resumed",
                        **self._described(),
                        "finished": len(self.finished),
                        "ledger": self._ledger.steps,
                    }
                )
            else:
                self._tell("run-started", self._described())

    def run(self) -> None:
        """Search in this process until the budget of the run is spent."""
        self.begin()
        while tasks := self.ask():
            for timed in filter(None, map(self.start, tasks)):
                with closing(train((self.job, timed))) as values:
                    for value in values:
                        self.hear(timed, value)
                self.stop()

    def ask(self) -> list[Task]:
        """The tasks to train next; none: those asked before are not done, or the run has ended."""
        if self.ended or self._asked:
            return []
        with self._working():
            tasks, self._left_over = self._left_over, []
            if not tasks:
                reason = self._spent()
                if reason is not None:
                    self._finish(reason)
                    return []
                tasks = self._next_tasks()
        self._asked = {task.workflow: task for task in tasks}
        return tasks

    def start(self, task: Task) -> Task | None:
        """The task as it is to be trained now; None: no time is left for it and later ones.

        Training again what was lost begins here, too. Every start is ended by a `stop`.
        """
        with self._working():
            left = self._seconds_left()
            if self._late or not time_for(self._pace.to_begin(), left):
                self._late = True
                self._asked = {n: t for n, t in self._asked.items() if n < task.workflow}
                return None
            self._heard[task.workflow] = deque()
            self._record()
        self._watch.start()
        until = None if left is None else time.time() + left
        return replace(task, pace=self._pace, until=until)

    def stop(self) -> None:
        """A training that was started has ended or was lost."""
        self._watch.stop()

    def hear(self, task: Task, value: Update | Trained | Failure) -> None:
        """Take in what a training yielded; recorded when its turn has come."""
        with self._working():
            self._heard[task.workflow].append(value)
            self._record()

    def lost(self, task: Task, cause: str) -> None:
        """Tell observers that a task is trained again, because whoever trained it is gone."""
        with self._working():
            named = self._named(task.workflow, task.order)
            self._pass_on({"event": "worker-lost", **named, "cause": cause})

    def fail(self, task: Task, error: Exception) -> None:
        """Mark a task as failed; the run ends here, and can be resumed."""
        with self._working():
            self._tell_failed(task, error)

    def _record(self) -> None:
        """Record what was heard of the workflow whose turn it is, and of those that follow."""
        while (number := len(self.finished)) in self._heard and number in self._asked:
            task, values = self._asked[number], self._heard[number]
            if self._announced < number:
                self._announced = number
                self._announce(task)
            while values:
                self._take(task, values.popleft())
            if number == len(self.finished):
                return
            del self._asked[number], self._heard[number]

    def _take(self, task: Task, value: Update | Trained | Failure) -> None:
        if isinstance(value, Update):
            self._ledger.spend(value.values["transitions"])
            self._tell("update", value.values, value.lap)
        elif isinstance(value, Trained):
            self._keep(value)
        else:
            if isinstance(value.error, CollectError):
                self._tell_failed(task, value.error)
            raise value.error

    def _tell_failed(self, task: Task, error: Exception) -> None:
        cause = {"cause": str(error)}
        self._tell("workflow-failed", self._named(task.workflow, task.order) | cause)

    def _announce(self, task: Task) -> None:
        self._tell(
            "workflow-started",
            {
                **self._named(task.workflow, task.order),
                "seed": task.seed,
                "batch_first": task.batch[0],
                "batch_size": task.batch[1],
                "inherited_from": task.inherited_from,
                "distance": self._distance(task),
                "budget_steps": task.budget.max_steps,
                "n_envs": task.budget.n_envs,
                "steps_per_update": task.budget.steps,
            },
        )

    def _next_tasks(self) -> list[Task]:
        with self._clock.phase("search"), self._calling_searcher():
            choices = self._asker().ask(len(self.finished))
        tasks = []
        for workflow, (order, budget) in enumerate(choices, start=len(self.finished)):
            chosen = parent(self.job.config.inherit, order, self.finished)
            with self._clock.phase("store"):
                state = (
                    None if chosen is None else self.store.load_checkpoint(chosen.workflow).trainer
                )
            tasks.append(
                Task(
                    workflow=workflow,
                    order=order,
                    seed=purpose_seed(self.job.config.seed, Purpose.WORKFLOW, workflow),
                    budget=budget,
                    inherited_from=None if chosen is None else chosen.workflow,
                    inherit=state,
                    batch=(len(self.finished), len(choices)),
                )
            )
        return tasks

    def _keep(self, trained: Trained) -> None:
        job, result = self.job, trained.result
        self._ledger.spend(result.evaluation_steps)
        self._pace = trained.pace
        with self._clock.phase("search"), self._calling_searcher():
            self.searcher.tell(result.order, result.outcome())
            state = dict(self.searcher.state())
        is_best = better(result, self.best)
        self.finished.append(result)
        policy = StoredPolicy(
            trained.policy,
            PolicyLabel(
                order=result.order,
                units=job.model.units,
                env=job.env.spec.name,
                env_options=dict(job.env.options),
                obs_shape=trained.info.obs_shape,
                num_actions=trained.info.num_actions,
                definition=job.definition.id,
                trainer=job.trainer.label,
                run=self.store.id,
                workflow=result.workflow,
                score=_known(result.score),
                compliance=_known(result.compliance),
            ),
        )
        with self._clock.phase("store"):
            self.store.save_checkpoint(Checkpoint(result.workflow, trained.state, policy, state))
        self._tell(
            "workflow-finished",
            {
                **self._named(result.workflow, result.order),
                **result.values(),
                "beside": job.beside.id,
                "best": is_best,
            },
            trained.lap,
        )
        if is_best:
            with self._clock.phase("store"):
                self.store.save_best(policy)

    def _take_up(self, events: Sequence[Mapping[str, Any]]) -> None:
        done = [event for event in events if event["event"] == "workflow-finished"]
        self._compliances = [
            event["compliance"]
            for event in events
            if event["event"] == "update" and event["compliance"] is not None
        ]
        for event in events:
            self._add_seconds(event["time"])
        results = [WorkflowResult.from_values(event) for event in done]
        if self.ended or not done:
            self.finished = results
            if done:
                self._restore_searcher(done[-1]["workflow"])
        else:
            self._take_up_batch(results, events)
        last = events[-1]
        self._ledger.steps = int(last["ledger"])
        self._ledger.seconds_before = last["time"].get("elapsed", self.seconds["wall"])
        best = self.best
        if best is not None and self.store.best_workflow() != best.workflow:
            self.store.save_best(self.store.load_checkpoint(best.workflow).policy)

    def _take_up_batch(
        self, results: list[WorkflowResult], events: Sequence[Mapping[str, Any]]
    ) -> None:
        """Go on after these results, within the batch they ended in, if they did not end it.

        What was asked together is asked again as it was at first, knowing what was known then.
        """
        started = [event for event in events if event["event"] == "workflow-started"]
        first = started[-1].get("batch_first", len(results) - 1)
        whole = len(results) == first + started[-1].get("batch_size", 1)
        known = len(results) if whole else first
        self.finished = results[:known]
        if known:
            self._restore_searcher(known - 1)
            ends = [event for event in events if event["event"] == "workflow-finished"]
            self._ledger.steps = int(ends[known - 1]["ledger"])
        if whole:
            return
        tasks = self._next_tasks()
        for task, result in zip(tasks, results[first:], strict=False):
            if task.order != result.order:
                raise UsageError(
                    f"run {self.store.id}: the searcher asked for {self.job.written(task.order)} "
                    f"where it had asked for {self.job.written(result.order)}, so the run cannot "
                    "go on as it began; it needs the versions and plugins it was started with"
                )
            with self._calling_searcher():
                self.searcher.tell(result.order, result.outcome())
        self.finished = results
        self._left_over = tasks[len(results) - first :]

    def _restore_searcher(self, workflow: int) -> None:
        """Let the searcher know what it knew after a workflow."""
        stored = self.store.load_checkpoint(workflow)
        with self._calling_searcher():
            self.searcher.load(stored.searcher)

    def _spent(self) -> str | None:
        """Why no further workflow is begun; None: there is budget for one."""
        if len(self.finished) >= self.job.config.workflows:
            return "workflows"
        if not self._asker().affordable():
            return "total-episodes"
        if self._late or not time_for(self._pace.to_begin(), self._seconds_left()):
            return "wall-time"
        return None

    def _asker(self) -> Asker:
        return Asker(self.job, self.searcher, self._ledger.left())

    def _seconds_left(self) -> float | None:
        return self._ledger.seconds_left(self._watch.elapsed())

    def _finish(self, reason: str) -> None:
        warning = constant_warning(self._compliances, self.job.definition.id)
        if warning is not None:
            self._tell("warning", {"text": warning})
        best = self.best
        self.ended = True
        self._tell(
            "run-finished",
            {
                "reason": reason,
                "workflows": len(self.finished),
                "compliant": sum(result.compliant for result in self.finished),
                "best": None if best is None else best.workflow,
            },
        )

    def _distance(self, task: Task) -> float | None:
        if task.inherited_from is None:
            return None
        return kendall(task.order, self.finished[task.inherited_from].order)

    def _named(self, workflow: int, order: Order) -> dict[str, Any]:
        return {
            "workflow": workflow,
            "order": self.job.written(order),
            "order_index": order_index(order),
            "permutation": list(order),
            "definition": self.job.definition.id,
        }

    def _described(self) -> dict[str, Any]:
        job = self.job
        return {
            "schema": SCHEMA,
            "run": self.store.id,
            "seed": job.config.seed,
            "env": job.env.label,
            "collector": job.collector.label,
            "trainer": job.trainer.label,
            "searcher": job.searcher.label,
            "definition": job.definition.id,
            "beside": job.beside.id,
            "units": list(job.model.units),
            "workflows": job.config.workflows,
            "batch": job.batch,
            "episode_steps": job.episode_steps,
        }

    def _tell(
        self, kind: str, values: Mapping[str, Any], lap: Mapping[str, float] | None = None
    ) -> None:
        """Store an event and tell the observers; what that costs is counted from here on.

        `lap` is the time of the training that it tells of.
        """
        event: dict[str, Any] = {"event": kind, **values, "ledger": self._ledger.steps}
        if kind == "update":
            self._compliances.append(values["compliance"])
        own = self._clock.lap()
        spent = own if lap is None else added(own, lap)
        self._add_seconds(spent)
        elapsed = round(self.elapsed, 7)
        event["time"] = {"at": round(time.time(), 3), "elapsed": elapsed, **spent}
        with self._clock.phase("store"):
            self.store.record(event)
        self._pass_on(event)

    def _pass_on(self, event: Mapping[str, Any]) -> None:
        with self._clock.phase("observers"):
            for observer in self._observers:
                observer(event)

    def _add_seconds(self, lap: Mapping[str, float]) -> None:
        for phase, seconds in lap.items():
            if phase not in {"at", "elapsed"}:
                self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def _calling_searcher(self) -> Any:
        return calling(f"searcher {self.job.searcher.spec.name!r}")

    @contextmanager
    def _working(self) -> Iterator[None]:
        self._watch.start()
        try:
            with self._clock.running():
                yield
        finally:
            self._watch.stop()


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
