"""Environments in Ray actors, each with its own copy of the policy."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise
from time import monotonic, perf_counter
from typing import Any

import ray
from ray.exceptions import RayError

from wfbench.collecting.synchronous import CollectCall, SynchronousCollector
from wfbench.contract import (
    CollectError,
    DeadlineError,
    EnvInfo,
    Plan,
    WfbenchError,
    WorkerError,
)

from .actor import Part, SliceActor, Stretch
from .cluster import connect, cores, import_path, release

_TICK = 0.25
"""Seconds between checks that actors make progress."""


class RayCollector(SynchronousCollector):
    """Each actor makes all steps of its slice; a rollout is put together when all are done.

    An actor makes its steps without waiting for the others, so `step` is the longest that one of
    them may go without finishing a step.
    """

    name = "ray"

    def __init__(self, *, workers: int = 0, batched: bool = True, address: str = "") -> None:
        super().__init__()
        self._workers = workers
        self._batched = batched
        self._address = address
        self._connected = False
        self._actors: list[Any] = []

    def _open(self, plan: Plan) -> EnvInfo:
        until = monotonic() + plan.deadlines.start
        _refuse_unpicklable(plan)
        connect(self._address)
        self._connected = True
        self._parts = self._divide(plan)
        remote: Any = ray.remote  # its types leave out some of its arguments
        actor = remote(
            num_cpus=0,
            max_restarts=0,
            scheduling_strategy="SPREAD",
            concurrency_groups={"pulse": 1},
        )(SliceActor)
        path = import_path()
        self._actors = [actor.remote(part, path) for part in self._parts]
        self._begin(plan)
        infos: list[EnvInfo] = self._answers(
            [a.open.remote() for a in self._actors], until, "be built"
        )
        return infos[0]

    def _fill(self, call: CollectCall) -> Sequence[str]:
        buffer, phases, limit = call.buffer, call.phases, call.plan.deadlines.step
        # Once for all actors of a node, not once for each.
        snapshot = ray.put(call.policy.snapshot())
        calls = [actor.collect.remote(snapshot, buffer.steps) for actor in self._actors]
        stretches: list[Stretch] = self._answers(calls, None, "make a step", limit)
        waited = perf_counter() - phases.started
        for part, stretch in zip(self._parts, stretches, strict=True):
            phases.bytes_moved += buffer.put_columns(part.columns, stretch.arrays)
        slowest = max(stretches, key=lambda one: one.env_seconds + one.policy_seconds)
        phases.env = min(slowest.env_seconds, waited)
        phases.inference = min(slowest.policy_seconds, waited - phases.env)
        phases.transport = perf_counter() - phases.started - phases.env - phases.inference
        phases.messages = 2 * len(calls)
        return ()

    def _close(self, plan: Plan) -> None:  # noqa: ARG002 - nothing here waits
        actors, self._actors = self._actors, []
        for actor in actors:
            ray.kill(actor, no_restart=True)
        if self._connected:
            self._connected = False
            release()

    def _divide(self, plan: Plan) -> list[Part]:
        workers = min(self._workers or cores(), plan.n_envs)
        edges = [plan.n_envs * worker // workers for worker in range(workers + 1)]
        batched = self._batched and plan.env.batched is not None
        return [
            Part(worker, plan.env, first, plan.env_seeds[first:stop], plan.check, batched)
            for worker, (first, stop) in enumerate(pairwise(edges))
        ]

    def _answers(
        self, calls: list[Any], until: float | None, what: str, step: float = 0.0
    ) -> list[Any]:
        """Return what all actors answer until a time, or while none is too long at a step."""
        pulse = _Pulse(self._actors, step)
        waiting = list(calls)
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=_TICK)
            for call in done:
                self._refuse_fault(call, calls.index(call))
            late = [calls.index(call) for call in waiting]
            if until is None:
                late = pulse.stopped(late)
            elif monotonic() < until:
                late = []
            if late:
                raise DeadlineError(
                    f"worker {', '.join(map(str, late))} did not {what} within its deadline"
                )
        answers: list[Any] = ray.get(calls)
        return answers

    def _refuse_fault(self, call: Any, worker: int) -> None:
        try:
            answer = ray.get(call)
        except RayError as error:
            line = " ".join(str(error).split())
            cause = f"its actor is gone ({type(error).__name__}): {line}"
            raise WorkerError(cause, worker=worker) from error
        if isinstance(answer, WfbenchError):
            raise answer


class _Pulse:
    """Notices an actor that makes no step although it should."""

    def __init__(self, actors: list[Any], limit: float) -> None:
        self._actors = actors
        self._limit = limit
        self._beats = dict.fromkeys(range(len(actors)), -1)
        self._felt = dict.fromkeys(range(len(actors)), monotonic())
        self._asked: dict[int, Any] = {}

    def stopped(self, workers: list[int]) -> list[int]:
        """Return those of these workers that made no step for too long."""
        for worker in workers:
            if worker not in self._asked:
                beat = self._actors[worker].beats.options(concurrency_group="pulse")
                self._asked[worker] = beat.remote()
        answered, _ = (
            ray.wait(list(self._asked.values()), num_returns=len(self._asked), timeout=0)
            if self._asked
            else ([], [])
        )
        for worker in [w for w, call in self._asked.items() if call in answered]:
            self._feel(worker, self._asked.pop(worker))
        now = monotonic()
        return [worker for worker in workers if now - self._felt[worker] > self._limit]

    def _feel(self, worker: int, call: Any) -> None:
        try:
            beats = ray.get(call)
        except RayError:
            return  # its answer will tell
        if beats != self._beats[worker]:
            self._beats[worker], self._felt[worker] = beats, monotonic()


def _refuse_unpicklable(plan: Plan) -> None:
    try:
        pickle.dumps(plan.env)
    except Exception as error:
        raise CollectError(
            f"environment {plan.env.name!r} cannot cross to actors: {error}"
        ) from error
