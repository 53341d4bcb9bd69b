"""Collectors whose workers all make one step, then wait for the next actions."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from time import monotonic, perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer, checked_acts
from wfbench.collecting.draws import draw_rows
from wfbench.collecting.lifecycle import Lifecycle
from wfbench.collecting.phases import Phases
from wfbench.contract import (
    Acts,
    EnvInfo,
    Plan,
    Policy,
    Rollout,
    StepArrays,
    UsageError,
    WorkerError,
)

from .board import Note
from .options import PAYLOADS
from .processes import ProcessSettings, common_info
from .revival import Revival
from .supervisor import Supervisor
from .wire import Kind
from .worker import Task


class Transport(Protocol):
    """How actions reach workers and what came of them comes back."""

    handler: str
    """Import path of the worker's side."""
    actions: NDArray[np.int64]
    out: StepArrays
    """The last step of every environment."""

    def allocate(self, n_envs: int, info: EnvInfo) -> None:
        """Make `actions` and `out`."""

    def reset_body(self) -> bytes:
        """What a worker is told with a reset."""

    def take_reset(self, task: Task, reply: bytes) -> None:
        """Put a worker's first observations into `out`."""

    def step_body(self, task: Task) -> bytes:
        """What a worker is told with a step."""

    def take_step(self, task: Task, reply: bytes) -> None:
        """Put a worker's results into `out`."""

    def shared_bytes(self, rows: int) -> int:
        """Bytes that one step of `rows` environments moves other than by message."""

    def close(self) -> None:
        """Release what `allocate` made; safe to call twice."""


class BarrierCollector(Lifecycle):
    """Asks the policy in this process, one action per environment, and has workers step.

    With `payload="true-state"` every step also moves each environment's nested true state here,
    pickled, once before and once after the step, as two more questions that every worker answers
    before anything goes on. It is unpickled and dropped: what a step says about compliance comes
    from the worker in either case.

    With `on_worker_death="restart"` the environments of a worker that died are built again and
    reset with new seeds, derived from the old ones. Every row that this call had collected of them
    is thrown away and collected again by the new worker, so that each delivered column is one
    unbroken stretch, and the numbering of their steps goes on. The rollout is marked.
    """

    def __init__(
        self, transport: Transport, settings: ProcessSettings, payload: str, default_workers: int
    ) -> None:
        super().__init__()
        if payload not in PAYLOADS:
            raise UsageError(f"payload is {payload!r}; it can be {' or '.join(PAYLOADS)}")
        self._transport = transport
        self._settings = settings
        self._true_state = payload == "true-state"
        self._default_workers = default_workers
        self._supervisor: Supervisor

    def _open(self, plan: Plan) -> EnvInfo:
        until = monotonic() + plan.deadlines.start
        self._supervisor = Supervisor(plan, self._settings.start_method)
        self._tasks = self._settings.tasks(
            plan,
            self._transport.handler,
            default=self._default_workers or plan.n_envs,
            batched=not self._true_state,
        )
        built = self._supervisor.start(self._tasks, until)
        info = common_info([answer.info for answer in built])
        if self._true_state and not all(answer.true_state for answer in built):
            raise UsageError(f"environment {plan.env.name!r} has no true_state(); use payload=mask")
        self._seeds = np.array(plan.env_seeds, np.uint64)
        self._first_step = 0
        self._revival = Revival(plan, self._settings, self._supervisor, self._tasks)
        self._transport.allocate(plan.n_envs, info)
        self._reset(range(len(self._tasks)), until)
        return info

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        phases = Phases()
        traffic = self._supervisor.messages, self._supervisor.bytes_moved
        before, restarts = self._supervisor.board.column(Note.ENV_NS), self._revival.count
        buffer = RolloutBuffer(steps, plan.n_envs, info)
        marks: list[str] = []
        pending: Sequence[int] = range(len(self._tasks))
        while pending:
            deaths = self._run(plan, info, policy, buffer, pending, phases)
            pending = [death.worker for death in deaths]
            marks += [self._revival.revive(death, self._prepare) for death in deaths]
        stepping = self._supervisor.board.column(Note.ENV_NS) - before
        phases.env = min(float(stepping.max()) * 1e-9, phases.transport)
        phases.transport -= phases.env
        phases.messages = self._supervisor.messages - traffic[0]
        phases.bytes_moved += self._supervisor.bytes_moved - traffic[1]
        first_step, self._first_step = self._first_step, self._first_step + steps
        return buffer.rollout(
            first_step=np.full(plan.n_envs, first_step),
            policy_version=policy.version,
            counters=phases.counters(restarts=self._revival.count - restarts),
            marks=tuple(marks),
        )

    def _close(self, plan: Plan) -> None:
        if hasattr(self, "_supervisor"):
            self._supervisor.close(plan.deadlines.close)
        self._transport.close()

    def _run(
        self,
        plan: Plan,
        info: EnvInfo,
        policy: Policy,
        buffer: RolloutBuffer,
        workers: Sequence[int],
        phases: Phases,
    ) -> list[WorkerError]:
        """All steps of the environments of `workers`; the deaths that this one survived."""
        transport, alive = self._transport, list(workers)
        deaths: list[WorkerError] = []
        runs = _merged([self._tasks[worker].rows for worker in workers])
        views = [(rows, _view(transport.out, rows)) for rows in runs]
        for rows, view in views:
            buffer.obs[0, rows] = view.obs
        for step, draws in enumerate(draw_rows(self._seeds, self._first_step, buffer.steps)):
            asked = perf_counter()
            acts = checked_acts(
                policy.act(buffer.obs[step], draws), plan.n_envs, info.num_actions, check=plan.check
            )
            answered = perf_counter()
            transport.actions[:] = acts.actions
            dead = self._step(plan, alive)
            for rows, view in views:
                buffer.put_acts(step, rows, _rows_of(acts, rows))
                buffer.put_step(step, rows, view)
            if dead:
                deaths += dead
                alive = [w for w in alive if w not in {death.worker for death in dead}]
            phases.bytes_moved += transport.shared_bytes(
                sum(len(self._tasks[w].envs) for w in alive)
            )
            phases.inference += answered - asked
            phases.transport += perf_counter() - answered
        return deaths

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
        survive = self._settings.survives_deaths
        return self._supervisor.ask(kind, bodies, until, survive=survive)

    def _reset(self, workers: Sequence[int], until: float) -> None:
        body = self._transport.reset_body()
        replies, _ = self._supervisor.ask(Kind.RESET, dict.fromkeys(workers, body), until)
        for worker, reply in replies.items():
            self._transport.take_reset(self._tasks[worker], reply)

    def _prepare(self, task: Task, until: float) -> None:
        """Make a replaced worker ready to step."""
        self._seeds[task.rows] = task.seeds
        self._reset([task.worker], until)


def _merged(runs: Sequence[slice]) -> list[slice]:
    """The same rows with as few slices as possible."""
    merged: list[slice] = []
    for run in sorted(runs, key=lambda rows: int(rows.start)):
        if merged and merged[-1].stop == run.start:
            merged[-1] = slice(merged[-1].start, run.stop)
        else:
            merged.append(run)
    return merged


def _rows_of(acts: Acts, rows: slice) -> Acts:
    return Acts(acts.actions[rows], acts.log_probs[rows], acts.values[rows])


def _view(arrays: StepArrays, rows: slice) -> StepArrays:
    fields: dict[str, Any] = {
        name: getattr(arrays, name)[rows] for name in StepArrays.__dataclass_fields__
    }
    return StepArrays(**fields)
