"""Environments in this process by their batched form, threads without the GIL."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer, checked_acts
from wfbench.collecting.draws import draw_rows
from wfbench.collecting.faults import cause_of, trace_of
from wfbench.collecting.lifecycle import Lifecycle
from wfbench.collecting.phases import Phases
from wfbench.collecting.scalar import ScalarSlice
from wfbench.contract import (
    DeadlineError,
    EnvInfo,
    Plan,
    Policy,
    Rollout,
    UsageError,
    WfbenchError,
    WorkerError,
)

from .threads import Task, run_all

log = logging.getLogger(__name__)

_ROWS_PER_THREAD = 256
"""Below this many environments a thread costs more than it brings."""


@dataclass
class _Slice:
    """Environments that one thread steps."""

    index: int
    columns: slice
    seeds: NDArray[np.uint64]
    envs: Any = None
    busy: bool = False
    """A thread is in its environments; for ever, if one hangs."""
    env_seconds: float = 0.0
    policy_seconds: float = 0.0


class VectorCollector(Lifecycle):
    """Each thread steps its own slice of environments with its own copy of the policy.

    The batched form writes straight into the arrays of the rollout, and neither it nor a compiled
    policy holds the GIL. An environment that has no batched form is stepped one by one in a single
    thread instead; a warning is logged and `EnvInfo.batched` is False. Environments run in threads,
    so one that hangs is reported at its deadline, but its thread stays until the process ends, and
    a fault that kills the process cannot be survived.
    """

    name = "vector"

    def __init__(self, threads: int = 0) -> None:
        super().__init__()
        if threads < 0:
            raise UsageError(f"threads is {threads}; it must be at least 1, or 0 for one per core")
        self._threads = threads
        self._slices: list[_Slice] = []
        self._first_step = 0
        self._copies: list[Policy] = []
        self._copied_version = 0

    def _open(self, plan: Plan) -> EnvInfo:
        batched = plan.env.batched is not None
        if not batched:
            log.warning(
                "environment %r has no batched form: vector steps %d of them one by one in this "
                "process, as slowly as sequential; shm would use every core",
                plan.env.name,
                plan.n_envs,
            )
        self._slices = _slices(plan, self._thread_count(plan) if batched else 1)
        self._first_step = 0
        self._copies = []
        first_obs: list[NDArray[Any]] = []
        # One slice after the other: constructors are seldom made for being called by two threads.
        run_all(
            [partial(_build_all, plan, self._slices, first_obs)],
            plan.deadlines.start,
            "building the environments",
        )
        self._obs = np.concatenate(first_obs)
        info: EnvInfo = self._slices[0].envs.info
        return info

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        phases = Phases()
        buffer = RolloutBuffer(steps, plan.n_envs, info)
        buffer.obs[0] = self._obs
        run_all(
            [
                partial(_step_slice, plan, info, part, own, buffer, self._first_step)
                for part, own in zip(self._slices, self._policies(policy), strict=True)
            ],
            plan.deadlines.step,
            "a step",
        )
        self._obs = buffer.obs[-1].copy()
        first_step, self._first_step = self._first_step, self._first_step + steps
        # Threads work at the same time: what counts is the share of the wall time each phase had.
        phases.env = sum(part.env_seconds for part in self._slices) / len(self._slices)
        phases.inference = sum(part.policy_seconds for part in self._slices) / len(self._slices)
        return buffer.rollout(
            first_step=np.full(plan.n_envs, first_step),
            policy_version=policy.version,
            counters=phases.counters(),
        )

    def _close(self, plan: Plan) -> None:
        slices, self._slices, self._copies = self._slices, [], []
        idle = [part for part in slices if part.envs is not None and not part.busy]
        try:
            run_all([partial(_close_slice, part) for part in idle], plan.deadlines.close, "closing")
        except DeadlineError as error:
            log.warning("an environment was abandoned: %s", error)

    def _thread_count(self, plan: Plan) -> int:
        if self._threads:
            return min(self._threads, plan.n_envs)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, min(cores or 1, plan.n_envs // _ROWS_PER_THREAD))

    def _policies(self, policy: Policy) -> list[Policy]:
        """One policy per slice; copies are kept as long as the policy stays the same."""
        if len(self._slices) == 1:
            return [policy]
        known = self._copies and self._copies[0] is policy
        if not known or self._copied_version != policy.version:
            snapshot = policy.snapshot()
            self._copies = [policy, *(snapshot.policy() for _ in self._slices[1:])]
            self._copied_version = policy.version
        return self._copies


def _slices(plan: Plan, count: int) -> list[_Slice]:
    seeds = np.array(plan.env_seeds, dtype=np.uint64)
    bounds = [plan.n_envs * i // count for i in range(count + 1)]
    columns = [slice(bounds[i], bounds[i + 1]) for i in range(count)]
    return [_Slice(i, here, seeds[here]) for i, here in enumerate(columns)]


def _build_all(
    plan: Plan,
    slices: list[_Slice],
    first_obs: list[NDArray[Any]],
    task: Task,
) -> None:
    for part in slices:
        first_obs.append(_build(plan, part))
        if not task.wanted:
            return


def _build(plan: Plan, part: _Slice) -> NDArray[Any]:
    first, stop = part.columns.start, part.columns.stop
    with _named(part):
        if plan.env.batched is None:
            part.envs = ScalarSlice(
                plan.env, range(first, stop), plan.env_seeds[first:stop], check=plan.check
            )
            obs = _room(part)
            part.envs.reset(obs)
        else:
            part.envs = plan.env.make_batch(stop - first)
            obs = _room(part)
            part.envs.reset(part.seeds, obs)
    return obs


def _room(part: _Slice) -> NDArray[Any]:
    info: EnvInfo = part.envs.info
    return np.empty((len(part.seeds), *info.obs_shape), np.dtype(info.obs_dtype))


def _step_slice(
    plan: Plan,
    info: EnvInfo,
    part: _Slice,
    policy: Policy,
    buffer: RolloutBuffer,
    first_step: int,
    task: Task,
) -> None:
    here, rows = part.columns, len(part.seeds)
    in_env = in_policy = 0.0
    with _named(part):
        for step, draws in enumerate(draw_rows(part.seeds, first_step, buffer.steps)):
            asked = perf_counter()
            answer = policy.act(buffer.obs[step, here], draws)
            acts = checked_acts(answer, rows, info.num_actions, check=plan.check)
            answered = perf_counter()
            buffer.put_acts(step, here, acts)
            part.envs.step(buffer.actions[step, here], buffer.cells(step, here))
            stepped = perf_counter()
            in_policy += answered - asked
            in_env += stepped - answered
            if not task.beat(stepped):
                return
        if plan.check:
            _refuse_not_finite(part, buffer)
    part.env_seconds, part.policy_seconds = in_env, in_policy


def _close_slice(part: _Slice, task: Task) -> None:  # noqa: ARG001 - closing is one beat
    try:
        part.envs.close()
    except Exception:
        log.warning("environments of slice %d could not be closed", part.index, exc_info=True)


@contextmanager
def _named(part: _Slice) -> Iterator[None]:
    """Whatever the environments of a slice raise becomes an error that names the slice."""
    part.busy = True
    try:
        yield
    except WfbenchError:
        raise
    except BaseException as error:
        first, last = part.columns.start, part.columns.stop - 1
        raise WorkerError(
            f"envs {first} to {last}: {cause_of(error)}",
            worker=part.index,
            traceback=trace_of(error),
        ) from error
    finally:
        part.busy = False


def _refuse_not_finite(part: _Slice, buffer: RolloutBuffer) -> None:
    here = part.columns
    _refuse_where(part, ~np.isfinite(buffer.rewards[:, here]), "a reward that is not finite")
    obs = buffer.obs[1:, here]
    if obs.dtype.kind == "f":
        spoilt = np.isnan(obs).any(axis=tuple(range(2, obs.ndim)))
        _refuse_where(part, spoilt, "an observation with NaN in it")


def _refuse_where(part: _Slice, spoilt: NDArray[np.bool_], what: str) -> None:
    if spoilt.any():
        column = int(np.argwhere(spoilt)[0][1])
        raise WorkerError(
            f"step returned {what}",
            worker=part.index,
            env=part.columns.start + column,
            seed=int(part.seeds[column]),
        )
