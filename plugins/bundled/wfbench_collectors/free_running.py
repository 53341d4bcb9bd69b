"""Workers that run freely with their own copy of the policy."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import AbstractContextManager
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.lifecycle import Lifecycle
from wfbench.collecting.phases import Phases
from wfbench.contract import EnvInfo, Plan, Policy, Rollout, WorkerError
from wfbench.processes.limits import usable_cores

from .free_runs import Delivery, FreeRun, Publisher, Pulse
from .launch import started_early
from .options import AsyncOptions
from .shared import Note
from .stretches import DEMAND, HALT
from .supervisor import Supervisor
from .tasks import WorkerTask, can_keep_workers, divide
from .wire import Kind, encode

_HANDLER = "wfbench_collectors.stretches:StretchHandler"


class AsyncCollector(Lifecycle):
    """Delivers the stretches that finish first; there is no step barrier.

    Workers make stretches of `steps` rows, also between calls. A call delivers as many columns as
    there are environments: a fast one can be there more than once, a slow one not at all. A column
    is one environment's unbroken stretch, made by one version of the policy and delivered once.

    `max_lag` bounds how many versions behind the given policy a column may be. A worker that is
    ahead of demand waits. A stretch that is too old all the same is dropped and counted, as is one
    of another length than is asked for now.

    A dead worker's finished stretches stay good. With `on_worker_death="restart"` its environments
    are built again with new seeds, the numbering of steps goes on after a gap, beyond any step that
    the dead worker can have made, and the rollout is marked. Takes the options of `AsyncOptions`.
    """

    name = "async"

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = AsyncOptions(**options)
        self._supervisor: Supervisor
        self._run: FreeRun | None = None
        self._publisher = Publisher()

    def prepared(self, plan: Plan) -> AbstractContextManager[None]:
        """Start what workers are forked from; the first collector like this one takes it over."""
        modules = Supervisor(plan, self._options, self._divide(plan)).modules()
        return started_early(self._options.start_method, modules)

    def _open(self, plan: Plan) -> EnvInfo:
        until = monotonic() + plan.deadlines.start
        self._tasks = self._divide(plan)
        self._everyone = range(len(self._tasks))
        self._supervisor = Supervisor(plan, self._options, self._tasks)
        info = self._supervisor.start(until).info
        self._start(until)
        return info

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:
        if not can_keep_workers(plan, old):
            return None
        if self._run is not None and self._stop_run(old, self._run)[1]:
            return None
        self._publisher.close()
        until = monotonic() + plan.deadlines.start
        self._supervisor.assign(plan, self._divide(plan))
        if not plan.same_envs(old):
            info = self._supervisor.build(until).info
        self._start(until)
        return info

    def _start(self, until: float) -> None:
        """Start every environment from its seed, and count from step 0."""
        self._next_step = [0] * len(self._tasks)
        self._reset_workers(self._everyone, until)
        self._spent = self._worker_time()
        self._pulse = Pulse(self._supervisor)

    def _divide(self, plan: Plan) -> list[WorkerTask]:
        return divide(plan, self._options, _HANDLER, default=usable_cores())

    def _reset_workers(self, workers: Iterable[int], until: float) -> None:
        bodies = {worker: pickle.dumps(self._tasks[worker].seeds) for worker in workers}
        self._supervisor.ask(Kind.RESET, bodies, until)

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        phases, supervisor = Phases(), self._supervisor
        restarts, traffic = supervisor.restarts, supervisor.watch.traffic
        delivery = Delivery(steps, plan.n_envs, info)
        self._pulse.check(plan.deadlines.step, excuse_waiting=True)
        self._publish(plan, policy, phases)
        run = self._run
        if run is None or run.steps != steps:
            run = self._start_run(plan, info, steps, delivery)
        self._take_news(run, monotonic(), delivery)
        run.control[DEMAND] = 1
        self._wake(self._everyone, b"", plan)
        phases.transport = perf_counter() - phases.started
        self._fill(plan, run, delivery, phases)
        run.control[DEMAND] = 0
        self._divide_blocked_time(phases)
        phases.add_traffic(traffic, supervisor.watch.traffic)
        return delivery.buffer.rollout(
            env_id=delivery.env_id,
            first_step=delivery.first_step,
            policy_version=delivery.version,
            counters=phases.counters(
                restarts=supervisor.restarts - restarts,
                dropped=delivery.dropped,
                lag=tuple((policy.version - delivery.version).tolist()),
            ),
            marks=tuple(delivery.marks),
        )

    def _close(self, plan: Plan) -> None:
        if self._run is not None:
            self._run.close()
            self._run = None
        if hasattr(self, "_supervisor"):
            self._supervisor.close(plan.deadlines.close)
            del self._supervisor
        self._publisher.close()

    def _publish(self, plan: Plan, policy: Policy, phases: Phases) -> None:
        """Let workers know of a policy, unless it is the one they have."""
        size = self._publisher.publish(policy)
        if size:
            phases.bytes_moved += size * len(self._tasks)
            self._wake(self._everyone, self._publisher.name.encode(), plan)

    def _start_run(self, plan: Plan, info: EnvInfo, steps: int, delivery: Delivery) -> FreeRun:
        """Have all workers run with a ring for stretches of this length."""
        dropped, deaths = self._stop_run(plan, self._run) if self._run is not None else (0, [])
        delivery.dropped += dropped
        number = self._supervisor.next_sequence()
        run = self._run = FreeRun(
            number, info, steps, self._options.max_lag, self._tasks, self._next_step
        )
        until = monotonic() + plan.deadlines.step
        for worker in set(self._everyone) - {death.worker for death in deaths}:
            self._supervisor.post(worker, run.order(worker), until)
        for death in deaths:
            delivery.marks.append(self._supervisor.revive(death, self._prepare))
        return run

    def _stop_run(self, plan: Plan, run: FreeRun) -> tuple[int, list[WorkerError]]:
        """Stop every worker; return how many columns are lost with it, and the deaths survived."""
        run.control[HALT] = 1
        self._wake(self._everyone, b"", plan)
        replies, deaths = self._supervisor.gather(
            run.number,
            self._everyone,
            monotonic() + plan.deadlines.step,
            survive=self._options.survives_deaths,
        )
        halted = {worker: pickle.loads(reply) for worker, reply in replies.items()}  # noqa: S301
        dropped = run.stop(halted)
        self._next_step = run.next_step
        self._run = None
        run.close()
        return dropped, deaths

    def _prepare(self, task: WorkerTask, until: float) -> None:
        """Have a replaced worker run, with step numbers that its predecessor cannot have used."""
        self._reset_workers([task.worker], until)
        news = encode(0, Kind.WAKE, self._publisher.name.encode())
        self._supervisor.post(task.worker, news, until)
        if self._run is not None:
            self._run.skip(task.worker)
            self._supervisor.post(task.worker, self._run.order(task.worker), until)

    def _wake(self, workers: Iterable[int], body: bytes, plan: Plan) -> None:
        message, until = encode(0, Kind.WAKE, body), monotonic() + plan.deadlines.step
        for worker in workers:
            self._supervisor.post(worker, message, until)

    def _fill(self, plan: Plan, run: FreeRun, delivery: Delivery, phases: Phases) -> None:
        limit = plan.deadlines.step
        while delivery.missing:
            started = perf_counter()
            if run.ready:
                moved, freed = run.deliver(delivery, self._publisher)
                phases.bytes_moved += moved
                if freed is not None:
                    self._wake([freed], b"", plan)
                phases.transport += perf_counter() - started
            else:
                self._take_news(run, monotonic() + min(limit / 4, 0.5), delivery)
                self._pulse.check(limit, excuse_waiting=False)
                phases.env += perf_counter() - started

    def _take_news(self, run: FreeRun, until: float, delivery: Delivery) -> None:
        """Wait for finished stretches and deaths; there may be none until then."""
        messages, died = self._supervisor.poll(until)
        for _, message in messages:
            if message.kind == Kind.STRETCH and message.sequence == run.number:
                run.finish(pickle.loads(message.body))  # noqa: S301 - our own worker's
        for worker in died:
            death = self._supervisor.death(worker)
            delivery.marks.append(self._supervisor.revive(death, self._prepare))
            self._pulse.restart(worker)

    def _worker_time(self) -> NDArray[np.int64]:
        board = self._supervisor.board
        return np.array([board.column(Note.ENV_NS).sum(), board.column(Note.POLICY_NS).sum()])

    def _divide_blocked_time(self, phases: Phases) -> None:
        """Divide the time this call was blocked as the workers' own time was."""
        now = self._worker_time()
        env, policy = (now - self._spent).tolist()
        self._spent = now
        blocked = phases.env
        phases.env = blocked * env / max(1, env + policy)
        phases.inference = blocked * policy / max(1, env + policy)
