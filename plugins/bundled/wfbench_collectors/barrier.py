"""Collectors whose workers all make one step, then wait for the next actions."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from time import monotonic, perf_counter_ns
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.synchronous import CollectCall, SynchronousCollector
from wfbench.contract import EnvInfo, Plan, StepArrays, UsageError, WorkerError

from .launch import started_early
from .options import ShmOptions
from .shared import Note
from .supervisor import Supervisor
from .tasks import WorkerTask, can_keep_workers, divide
from .wire import Kind
from .worker import Built, Handler


class Transport(ABC):
    """How actions reach workers and results come back. By default, messages are empty."""

    handler: ClassVar[str]
    """Import path of the worker's side, a `StepHandler`."""
    actions: NDArray[np.int64]
    out: StepArrays
    """The last step of every environment."""

    @abstractmethod
    def allocate(self, n_envs: int, info: EnvInfo) -> None:
        """Make `actions` and `out`."""

    def reset_body(self, task: WorkerTask) -> bytes:
        """Return what a worker is sent with a reset: its seeds, and whatever it needs besides."""
        return pickle.dumps(task.seeds)

    def take_reset(self, task: WorkerTask, reply: bytes) -> None:  # noqa: B027 - may be empty
        """Put a worker's first observations into `out`, unless it did so itself."""

    def step_body(self, task: WorkerTask) -> bytes:  # noqa: ARG002 - for messages with actions
        """Return what a worker is sent with a step."""
        return b""

    def take_step(self, task: WorkerTask, reply: bytes) -> None:  # noqa: B027 - may be empty
        """Put a worker's results into `out`, unless it did so itself."""

    def shared_bytes(self, steps: int, ended: int) -> int:  # noqa: ARG002 - if arrays are shared
        """Return the bytes that steps, of which some `ended`, moved other than by message."""
        return 0

    def close(self) -> None:  # noqa: B027 - may be empty
        """Release what `allocate` made; safe to call twice."""


class StepHandler(Handler):
    """Steps its environments when asked; subclasses say where actions and results are."""

    def true_state(self, body: bytes) -> bytes:  # noqa: ARG002 - of all environments
        """Return the environments' nested states."""
        return pickle.dumps(self.envs.true_states())

    def _step_envs(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        started = perf_counter_ns()
        self.envs.step(actions, out)
        self._notes[Note.ENV_NS] += perf_counter_ns() - started


class BarrierCollector(SynchronousCollector):
    """Asks the policy in this process, one action per environment, and has workers step.

    With `payload="true-state"` every step also moves each environment's nested true state here,
    pickled, once before and once after the step, and discards it.

    With `on_worker_death="restart"` the environments of a dead worker are built again with new
    seeds. What this call had collected of them is collected again, so that each delivered column
    is one unbroken stretch. The numbering of their steps goes on; the rollout is marked.
    """

    def __init__(self, transport: Transport, options: ShmOptions, default_workers: int) -> None:
        super().__init__()
        self._transport = transport
        self._options = options
        self._true_state = options.payload == "true-state"
        self._default_workers = default_workers
        self._supervisor: Supervisor

    def prepared(self, plan: Plan) -> AbstractContextManager[None]:
        """Start what workers are forked from; the first collector like this one takes it over."""
        modules = Supervisor(plan, self._options, self._divide(plan)).modules()
        return started_early(self._options.start_method, modules)

    def _open(self, plan: Plan) -> EnvInfo:
        until = monotonic() + plan.deadlines.start
        self._tasks = self._divide(plan)
        self._supervisor = Supervisor(plan, self._options, self._tasks)
        info = self._allocate(plan, self._supervisor.start(until))
        self._start(plan, until)
        return info

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:
        if not can_keep_workers(plan, old):
            return None
        until = monotonic() + plan.deadlines.start
        self._supervisor.assign(plan, self._divide(plan))
        if not plan.same_envs(old):
            self._transport.close()
            info = self._allocate(plan, self._supervisor.build(until))
        self._start(plan, until)
        return info

    def _fill(self, call: CollectCall) -> Sequence[str]:
        supervisor, phases = self._supervisor, call.phases
        restarts, traffic = supervisor.restarts, supervisor.watch.traffic
        before = supervisor.board.column(Note.ENV_NS)
        marks: list[str] = []
        pending: Sequence[int] = range(len(self._tasks))
        while pending:
            deaths = self._run(call, pending)
            pending = [death.worker for death in deaths]
            marks += [supervisor.revive(death, self._prepare) for death in deaths]
        stepping = supervisor.board.column(Note.ENV_NS) - before
        waited, phases.env = phases.env, min(float(stepping.max()) * 1e-9, phases.env)
        phases.transport = waited - phases.env
        phases.add_traffic(traffic, supervisor.watch.traffic)
        phases.restarts = supervisor.restarts - restarts
        return marks

    def _close(self, plan: Plan) -> None:
        if hasattr(self, "_supervisor"):
            self._supervisor.close(plan.deadlines.close)
            del self._supervisor
        self._transport.close()

    def _divide(self, plan: Plan) -> list[WorkerTask]:
        return divide(
            plan,
            self._options,
            self._transport.handler,
            default=self._default_workers or plan.n_envs,
            batched=not self._true_state,
        )

    def _allocate(self, plan: Plan, built: Built) -> EnvInfo:
        if self._true_state and not built.true_state:
            raise UsageError(f"environment {plan.env.name!r} has no true_state(); use payload=mask")
        self._transport.allocate(plan.n_envs, built.info)
        return built.info

    def _start(self, plan: Plan, until: float) -> None:
        self._begin(plan)
        self._reset_workers(range(len(self._tasks)), until)

    def _run(self, call: CollectCall, workers: Sequence[int]) -> list[WorkerError]:
        """Make all steps of the environments of `workers`; return the deaths that it survived.

        The policy is asked about the others too: the same again, for it is a pure function.
        """
        transport, alive = self._transport, list(workers)
        deaths: list[WorkerError] = []
        everyone = len(alive) == len(self._tasks)
        runs = [slice(None)] if everyone else [self._tasks[worker].rows for worker in workers]
        views = [(rows, transport.out.rows(rows)) for rows in runs]
        for rows, view in views:
            call.buffer.obs[0, rows] = view.obs
        envs, stepped = self._envs_of(alive), 0
        for actions, out in self._play(call):
            transport.actions[:] = actions
            dead = self._step(call.plan, alive)
            for rows, view in views:
                (out if everyone else out.rows(rows)).write(view)
            if dead:
                deaths += dead
                alive = [w for w in alive if w not in {death.worker for death in dead}]
                envs = self._envs_of(alive)
            stepped += envs
        ends = call.buffer.terminated | call.buffer.truncated
        ended = sum(int(ends[:, rows].sum()) for rows in runs)
        call.phases.bytes_moved += transport.shared_bytes(stepped, ended)
        return deaths

    def _envs_of(self, workers: Sequence[int]) -> int:
        return sum(len(self._tasks[worker].envs) for worker in workers)

    def _step(self, plan: Plan, workers: Sequence[int]) -> list[WorkerError]:
        deaths = []
        if self._true_state:
            deaths += self._fetch_true_states(plan, workers)
        bodies = {worker: self._transport.step_body(self._tasks[worker]) for worker in workers}
        replies, dead = self._ask(Kind.STEP, bodies, plan)
        for worker, reply in replies.items():
            self._transport.take_step(self._tasks[worker], reply)
        deaths += dead
        if self._true_state:
            deaths += self._fetch_true_states(plan, workers)
        return list({death.worker: death for death in deaths}.values())

    def _fetch_true_states(self, plan: Plan, workers: Sequence[int]) -> list[WorkerError]:
        replies, deaths = self._ask(Kind.TRUE_STATE, dict.fromkeys(workers, b""), plan)
        for reply in replies.values():
            pickle.loads(reply)  # noqa: S301 - from our own workers
        return deaths

    def _ask(
        self, kind: Kind, bodies: Mapping[int, bytes], plan: Plan
    ) -> tuple[dict[int, bytes], list[WorkerError]]:
        until = monotonic() + plan.deadlines.step
        return self._supervisor.ask(kind, bodies, until, survive=self._options.survives_deaths)

    def _reset_workers(self, workers: Sequence[int], until: float) -> None:
        bodies = {worker: self._transport.reset_body(self._tasks[worker]) for worker in workers}
        replies, _ = self._supervisor.ask(Kind.RESET, bodies, until)
        for worker, reply in replies.items():
            self._transport.take_reset(self._tasks[worker], reply)

    def _prepare(self, task: WorkerTask, until: float) -> None:
        """Make a replaced worker ready to step."""
        self._seeds[task.rows] = task.seeds
        self._reset_workers([task.worker], until)
