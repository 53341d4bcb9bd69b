"""Take one sample, in a process that does nothing else."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Any

from wfbench.benchmarks.measure.model import PHASES, Case, Measurement, Settings
from wfbench.benchmarks.measure.proof import prove_episodes
from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.contract import (
    CollectError,
    Collector,
    Counters,
    Deadlines,
    EnvInfo,
    Policy,
    load_object,
)
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.processes import usage as process_tree

DEADLINES = Deadlines(start=300.0, step=60.0, close=5.0)

_COUNTERS = ("messages", "bytes_moved", "restarts", "dropped")

_TOLERANCE = 0.02
"""Largest difference between the sum of the phases and the wall time, as a share of it."""


def measure(case: Case, seed: int, settings: Settings, number: int = 0) -> Measurement:
    """Open a collector, warm it up, collect for as long as the settings say, and close it.

    In the first round, number 0, a deterministic case also proves what it collects beyond the ends
    of episodes, unless it is a point of a curve.
    """
    prove = number == 0 and case.deterministic and settings.proof and not settings.scaling
    notes = _Notes()
    logging.getLogger().addHandler(notes)
    try:
        collector: Collector = load_object(case.factory)(**case.options)
        with collector:
            return _measure_open(case, seed, settings, collector, notes, prove=prove)
    finally:
        logging.getLogger().removeHandler(notes)


def _measure_open(
    case: Case,
    seed: int,
    settings: Settings,
    collector: Collector,
    notes: _Notes,
    *,
    prove: bool,
) -> Measurement:
    plan = make_plan(case.env, case.n_envs, seed, purpose=Purpose.BENCH, deadlines=DEADLINES)
    began = perf_counter_ns()
    info = collector.open(plan)
    opened = perf_counter_ns()
    policy = make_policy(case.policy, info, seed)
    first = collector.collect(policy, settings.steps)
    warm = perf_counter_ns()
    proof, marks = None, list(first.marks)
    if prove:
        proof, marks = prove_episodes(collector, policy, first, case.n_envs)
    counted: list[Counters] = []
    transitions, vector_steps = 0, 0
    before = process_tree.snapshot(process_tree.tree())
    started = perf_counter_ns()
    while (now := perf_counter_ns()) - started < settings.seconds * 1e9:
        rollout = collector.collect(policy, settings.steps)
        counted.append(_checked(rollout.counters))
        transitions += rollout.transitions
        vector_steps += len(rollout.actions)
        marks += rollout.marks
    wall = (now - started) * 1e-9
    used = process_tree.used_since(before)
    memory = process_tree.memory_bytes(process_tree.tree())
    closing = perf_counter_ns()
    collector.close()
    return Measurement(
        start_up=(opened - began) * 1e-9,
        warm_up=(warm - opened) * 1e-9,
        wall=wall,
        cpu=used.cpu,
        shut_down=(perf_counter_ns() - closing) * 1e-9,
        transitions=transitions,
        vector_steps=vector_steps,
        memory=memory,
        marks=tuple(dict.fromkeys(marks)),
        transition_hash=first.transition_hash(),
        batched=info.batched,
        notes=tuple(notes.lines),
        voluntary_switches=used.voluntary_switches,
        involuntary_switches=used.involuntary_switches,
        foreign_cpu=used.foreign_cpu,
        load=before.load,
        proof=proof,
        **_summed(counted, wall),
    )


def make_policy(kind: str, info: EnvInfo, seed: int) -> Policy:
    """Return the policy a case is measured with."""
    if kind == "random":
        return RandomPolicy(info.num_actions)
    return NetworkPolicy.initial(math.prod(info.obs_shape), info.num_actions, seed)


def _checked(counters: Counters) -> Counters:
    """Return the counters of a rollout; raise CollectError unless its phases make up its time."""
    total = sum(getattr(counters, name) for name in PHASES)
    if abs(total - counters.wall) > _TOLERANCE * counters.wall + 1e-6:
        raise CollectError(
            f"the collector's phases sum to {total:.4f} s, its wall time is "
            f"{counters.wall:.4f} s; they must be equal"
        )
    return counters


def _summed(counted: Sequence[Counters], wall: float) -> dict[str, Any]:
    """Return the figures of all rollouts; time between two collects counts as idle."""
    phases = {name: sum((getattr(one, name) for one in counted), 0.0) for name in PHASES}
    phases["idle"] += max(0.0, wall - sum(phases.values()))
    lags = [lag for one in counted for lag in one.lag]
    return {
        **{name: sum(getattr(one, name) for one in counted) for name in _COUNTERS},
        "phases": phases,
        "lag_mean": sum(lags) / len(lags) if lags else 0.0,
        "lag_max": max(lags, default=0),
    }


class _Notes(logging.Handler):
    """A log handler that keeps each warning once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.lines[record.getMessage()] = None
