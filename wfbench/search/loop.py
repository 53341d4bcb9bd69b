"""The search itself: ask for an order, train it, tell; one workflow at a time, resumable."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wfbench.compliance import constant_warning
from wfbench.contract import CollectError, Order, Searcher, SearcherSetup, UsageError
from wfbench.orders import check_order, kendall, order_index
from wfbench.seeding import Purpose, purpose_seed
from wfbench.store.checkpoint import Checkpoint
from wfbench.store.event_log import SCHEMA
from wfbench.store.policy_file import PolicyLabel, StoredPolicy
from wfbench.store.run import RunStore

from .budget import Ledger, Pace, WorkflowBudget, workflow_budget
from .inheriting import parent
from .job import SearchJob, calling
from .phases import PhaseClock
from .playing import steps_to_play
from .results import WorkflowResult, better
from .training import Task, Trained, Training

Observer = Callable[[Mapping[str, Any]], None]
"""Told of every event, after it was stored, and of `run-resumed`. `event` says what happened."""


class Search:
    """One search in one run directory."""

    def __init__(self, job: SearchJob, store: RunStore, observers: Sequence[Observer] = ()) -> None:
        self.job = job
        self.store = store
        self.finished: list[WorkflowResult] = []
        self._observers = tuple(observers)
        self._clock = PhaseClock()
        steps = job.config.total_episodes * job.episode_steps
        self._ledger = Ledger(steps, job.config.max_seconds)
        self._compliances: list[float] = []
        self._pace = Pace()
        self._searcher: Searcher | None = None
        self.ended = store.finished
        """Whether the run is complete."""
        self.seconds: dict[str, float] = {}
        """Seconds by phase of everything that was told, and `wall`."""

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
    def searcher(self) -> Searcher:
        """The searcher, once the search has begun."""
        if self._searcher is None:
            raise UsageError("the search has not begun")
        return self._searcher

    def begin(self) -> None:
        """Start, or take up what finished workflows left."""
        with self._clock.running():
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

    def step(self) -> bool:
        """Train one more order; False if the budget of the run is spent, and the run has ended."""
        if self.ended:
            return False
        with self._clock.running():
            reason = self._spent()
            if reason is not None:
                self._finish(reason)
                return False
            self._train_next()
        return True

    def run(self) -> None:
        """Search until the budget of the run is spent."""
        self.begin()
        while self.step():
            pass

    def _train_next(self) -> None:
        task = self._next_task()
        self._tell(
            "workflow-started",
            {
                **self._named(task.workflow, task.order),
                "seed": task.seed,
                "inherited_from": task.inherited_from,
                "distance": self._distance(task),
                "budget_steps": task.budget.max_steps,
                "n_envs": task.budget.n_envs,
                "steps_per_update": task.budget.steps,
            },
        )
        try:
            training = Training(self.job, task, self._clock, self._ledger, self._pace, self._tell)
            trained = training.run()
        except CollectError as error:
            cause = {"cause": str(error)}
            self._tell("workflow-failed", self._named(task.workflow, task.order) | cause)
            raise
        self._keep(trained)

    def _next_task(self) -> Task:
        job, number = self.job, len(self.finished)
        with self._clock.phase("search"), self._calling_searcher():
            order = check_order(tuple(self.searcher.ask()), len(job.model.units))
            give = getattr(self.searcher, "budget", None)
            share = give(order) if give is not None else None
        budget = self._budget(1.0 if share is None else float(share))
        chosen = parent(job.config.inherit, order, self.finished)
        with self._clock.phase("store"):
            state = None if chosen is None else self.store.load_checkpoint(chosen.workflow).trainer
        return Task(
            workflow=number,
            order=order,
            seed=purpose_seed(job.config.seed, Purpose.WORKFLOW, number),
            budget=budget,
            inherited_from=None if chosen is None else chosen.workflow,
            inherit=state,
        )

    def _keep(self, trained: Trained) -> None:
        job, result = self.job, trained.result
        with self._clock.phase("search"), self._calling_searcher():
            self.searcher.tell(result.order, result.outcome())
            state = dict(self.searcher.state())
        is_best = better(result, self.best)
        self.finished.append(result)
        policy = StoredPolicy(
            trained.policy.snapshot(),
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
        )
        if is_best:
            with self._clock.phase("store"):
                self.store.save_best(policy)

    def _take_up(self, events: Sequence[Mapping[str, Any]]) -> None:
        done = [event for event in events if event["event"] == "workflow-finished"]
        self.finished = [WorkflowResult.from_values(event) for event in done]
        self._compliances = [
            event["compliance"]
            for event in events
            if event["event"] == "update" and event["compliance"] is not None
        ]
        for event in events:
            self._add_seconds(event["time"])
        self._ledger.resume(int(events[-1]["ledger"]), self.seconds["wall"])
        if self.ended or not done:
            return
        last = self.store.load_checkpoint(self.finished[-1].workflow)
        with self._calling_searcher():
            self.searcher.load(last.searcher)
        best = self.best
        if best is not None and self.store.best_workflow() != best.workflow:
            self.store.save_best(self.store.load_checkpoint(best.workflow).policy)

    def _spent(self) -> str | None:
        """Why no further workflow is begun; None: there is budget for one."""
        job = self.job
        if len(self.finished) >= job.config.workflows:
            return "workflows"
        left = self._left_for_training()
        n_envs = job.cadence.n_envs or job.config.n_envs
        if left is not None and left < n_envs * job.episode_steps:
            return "total-episodes"
        if not self._ledger.time_for(self._clock.elapsed(), self._pace.to_begin()):
            return "wall-time"
        return None

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

    def _budget(self, share: float) -> WorkflowBudget:
        return workflow_budget(
            self.job.config,
            self.job.cadence,
            self.job.episode_steps,
            share,
            self._left_for_training(),
        )

    def _left_for_training(self) -> int | None:
        left, score = self._ledger.left(), self.job.score
        if left is None:
            return None
        if not score.evaluates:
            return left
        n_envs, steps = self.job.config.n_envs, self.job.episode_steps
        return max(0, left - steps_to_play(score.count, n_envs, steps))

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
            "episode_steps": job.episode_steps,
        }

    def _tell(self, kind: str, values: Mapping[str, Any]) -> None:
        """Store an event and tell the observers; what that costs is counted from here on."""
        event: dict[str, Any] = {"event": kind, **values, "ledger": self._ledger.steps}
        if kind == "update":
            self._compliances.append(values["compliance"])
        lap = self._clock.lap()
        self._add_seconds(lap)
        event["time"] = {"at": round(time.time(), 3), **lap}
        with self._clock.phase("store"):
            self.store.record(event)
        self._pass_on(event)

    def _pass_on(self, event: Mapping[str, Any]) -> None:
        with self._clock.phase("observers"):
            for observer in self._observers:
                observer(event)

    def _add_seconds(self, lap: Mapping[str, float]) -> None:
        for phase, seconds in lap.items():
            if phase != "at":
                self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def _calling_searcher(self) -> Any:
        return calling(f"searcher {self.job.searcher.spec.name!r}")


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
