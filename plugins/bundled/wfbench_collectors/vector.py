"""Environments in this process by their batched form, threads without the GIL."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.batch import build_slice
from wfbench.collecting.checks import first_flaw, flaw_of
from wfbench.collecting.faults import cause_of, trace_of
from wfbench.collecting.phases import Phases
from wfbench.collecting.synchronous import CollectCall, SynchronousCollector
from wfbench.contract import (
    DeadlineError,
    EnvInfo,
    Plan,
    Policy,
    StepArrays,
    UsageError,
    WfbenchError,
    WorkerError,
)
from wfbench.processes.limits import usable_cores

from .threads import ThreadTask, run_all

log = logging.getLogger(__name__)

_ROWS_PER_THREAD = 256
"""Below this many environments a thread costs more than it brings."""


@dataclass
class _Part:
    """Environments that one thread steps."""

    index: int
    columns: slice
    envs: Any = None
    busy: bool = False
    """A thread is in its environments; for ever, if one hangs."""


class VectorCollector(SynchronousCollector):
    """Each thread steps its own slice of environments with its own copy of the policy.

    The batched form writes straight into the arrays of the rollout, and neither it nor a compiled
    policy holds the GIL. An environment without one is stepped one by one in a single thread, with
    a warning. One that hangs is reported at its deadline, but its thread stays until the process
    ends, and a fault that kills the process cannot be survived.
    """

    name = "vector"

    def __init__(self, threads: int = 0) -> None:
        super().__init__()
        if threads < 0:
            raise UsageError(f"threads is {threads}; it must be at least 1, or 0 for one per core")
        self._threads = threads
        self._parts: list[_Part] = []
        self._copies: list[Policy] = []
        self._copied_version: int

    def _open(self, plan: Plan) -> EnvInfo:
        batched = plan.env.batched is not None
        if not batched:
            log.warning(
                "environment %r has no batched form: vector steps %d of them one by one in this "
                "process, as slowly as sequential; shm would use every core",
                plan.env.name,
                plan.n_envs,
            )
        count = self._thread_count(plan) if batched else 1
        bounds = pairwise(plan.n_envs * i // count for i in range(count + 1))
        self._parts = [_Part(index, slice(*here)) for index, here in enumerate(bounds)]
        self._start(plan, "building the environments")
        info: EnvInfo = self._parts[0].envs.info
        return info

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:
        if not plan.same_envs(old):
            return None
        self._start(plan, "resetting the environments")
        return info

    def _start(self, plan: Plan, what: str) -> None:
        self._begin(plan)
        self._copies = []
        first_obs: list[NDArray[Any]] = []
        # One after the other: constructors are seldom made for being called by two threads.
        run_all([partial(_start_all, plan, self._parts, first_obs)], plan.deadlines.start, what)
        self._obs = np.concatenate(first_obs)

    def _fill(self, call: CollectCall) -> Sequence[str]:
        call.buffer.obs[0] = self._obs
        parts, policies = self._parts, self._policies(call.policy)
        calls = [replace(call, policy=policy, phases=Phases()) for policy in policies]
        run_all(
            [partial(self._step_part, *one) for one in zip(parts, calls, strict=True)],
            call.plan.deadlines.step,
            "a step",
        )
        self._obs = call.buffer.obs[-1].copy()
        # Threads work at the same time: what counts is the share of the wall time each phase had.
        call.phases.env = sum(own.phases.env for own in calls) / len(parts)
        call.phases.inference = sum(own.phases.inference for own in calls) / len(parts)
        return ()

    def _step_part(self, part: _Part, call: CollectCall, task: ThreadTask) -> None:
        with _in_use(part):
            for _ in self._advance(call, part.envs, part.columns):
                if not task.beat(perf_counter()):
                    return
            if call.plan.check and call.info.batched:
                _refuse_not_finite(part, call)

    def _close(self, plan: Plan) -> None:
        parts, self._parts, self._copies = self._parts, [], []
        idle = [part for part in parts if part.envs is not None and not part.busy]
        try:
            run_all([partial(_close_part, part) for part in idle], plan.deadlines.close, "closing")
        except DeadlineError as error:
            log.warning("an environment was abandoned: %s", error)

    def _thread_count(self, plan: Plan) -> int:
        if self._threads:
            return min(self._threads, plan.n_envs)
        return max(1, min(usable_cores(), plan.n_envs // _ROWS_PER_THREAD))

    def _policies(self, policy: Policy) -> list[Policy]:
        """Return one policy per part; copies are kept as long as the policy stays the same."""
        if len(self._parts) == 1:
            return [policy]
        known = self._copies and self._copies[0] is policy
        if not known or self._copied_version != policy.version:
            snapshot = policy.snapshot()
            self._copies = [policy, *(snapshot.policy() for _ in self._parts[1:])]
            self._copied_version = policy.version
        return self._copies


def _start_all(
    plan: Plan, parts: list[_Part], first_obs: list[NDArray[Any]], task: ThreadTask
) -> None:
    """Build the environments, unless they are there, and start them from the plan's seeds."""
    batched = plan.env.batched is not None
    for part in parts:
        seeds = plan.env_seeds[part.columns]
        with _in_use(part):
            if part.envs is None:
                part.envs = build_slice(
                    plan.env,
                    range(part.columns.start, part.columns.stop),
                    seeds,
                    batched=batched,
                    worker=part.index,
                    # A batch is checked once per rollout, which costs less than once per step.
                    check=plan.check and not batched,
                )
            part.envs.reseed(seeds)
            first_obs.append(part.envs.first_obs())
        if not task.wanted:
            return


def _close_part(part: _Part, task: ThreadTask) -> None:  # noqa: ARG001 - closing is one beat
    try:
        part.envs.close()
    except Exception:
        log.warning("environments of slice %d could not be closed", part.index, exc_info=True)


@contextmanager
def _in_use(part: _Part) -> Iterator[None]:
    """Mark a part as busy; attribute to it what is raised, also by its policy."""
    part.busy = True
    try:
        yield
    except WfbenchError:
        raise
    except BaseException as error:
        raise WorkerError(cause_of(error), worker=part.index, traceback=trace_of(error)) from error
    finally:
        part.busy = False


def _refuse_not_finite(part: _Part, call: CollectCall) -> None:
    """Raise WorkerError for the first value of a part's rollout that is not allowed."""
    unbounded = call.info.unbounded
    rows = StepArrays.among(call.buffer.arrays).rows((slice(None), part.columns))
    seen = (rows.obs[1:], rows.final_obs[rows.ended])
    if np.isfinite(rows.rewards).all() and not any(flaw_of(o, unbounded=unbounded) for o in seen):
        return
    for step in range(call.buffer.steps):
        out = call.buffer.cells(step, part.columns)
        finite, flaw = np.isfinite(out.rewards), first_flaw(out, unbounded=unbounded)
        if not finite.all():
            row, what = int(finite.argmin()), "a reward that is not finite"
        elif flaw is not None:
            row, what = flaw[0], f"an observation with {flaw[1]} in it"
        else:
            continue
        env = part.columns.start + row
        seed = call.plan.env_seeds[env]
        raise WorkerError(f"step returned {what}", worker=part.index, env=env, seed=seed)
