"""One sample, taken in the process that runs this module's `main`."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from wfbench.contract import (
    CollectError,
    Collector,
    Deadlines,
    EnvInfo,
    Policy,
    Rollout,
    load_object,
)
from wfbench.isolated import inside
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.seeding import Purpose, make_plan

from . import process_tree
from .model import PHASES, Case, Measurement

DEADLINES = Deadlines(start=300.0, step=60.0, close=5.0)

_TOLERANCE = 0.02
"""How far phases may be from summing to the wall time, as a share of it."""


@dataclass(frozen=True)
class Order:
    """What to measure."""

    case: Case
    seed: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class Failed:
    """Why there is no measurement."""

    cause: str


def main(descriptor: str) -> None:
    """Take one sample and send it, or why there is none."""
    connection = inside(descriptor)
    order: Order = connection.recv()
    try:
        answer: Measurement | Failed = measure(order)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
        answer = Failed(f"{type(error).__name__}: {' '.join(str(error).split())}")
    connection.send(answer)


def measure(order: Order) -> Measurement:
    """Open, warm up, collect for as long as was ordered, close."""
    notes = _Notes()
    logging.getLogger().addHandler(notes)
    try:
        collector: Collector = load_object(order.case.factory)(**order.case.options)
        with collector:
            return _measure_open(order, collector, notes)
    finally:
        logging.getLogger().removeHandler(notes)


def _measure_open(order: Order, collector: Collector, notes: _Notes) -> Measurement:
    case = order.case
    plan = make_plan(case.env, case.n_envs, order.seed, purpose=Purpose.BENCH, deadlines=DEADLINES)
    began = perf_counter_ns()
    info = collector.open(plan)
    opened = perf_counter_ns()
    policy = make_policy(case.policy, info, order.seed)
    first = collector.collect(policy, order.steps)
    warm = perf_counter_ns()
    proof = first.transition_hash()
    window = _Window()
    before = process_tree.snapshot(process_tree.tree())
    started = perf_counter_ns()
    while (now := perf_counter_ns()) - started < order.seconds * 1e9:
        window.add(collector.collect(policy, order.steps))
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
        memory=memory,
        phases=window.phases_of(wall),
        marks=tuple(dict.fromkeys((*first.marks, *window.marks))),
        transition_hash=proof,
        batched=info.batched,
        notes=tuple(notes.lines),
        voluntary_switches=used.voluntary_switches,
        involuntary_switches=used.involuntary_switches,
        foreign_cpu=used.foreign_cpu,
        load=before.load,
        **window.totals(),
    )


def make_policy(kind: str, info: EnvInfo, seed: int) -> Policy:
    """The policy a case is measured with."""
    if kind == "random":
        return RandomPolicy(info.num_actions)
    features = 1
    for length in info.obs_shape:
        features *= length
    return NetworkPolicy.initial(features, info.num_actions, seed)


@dataclass
class _Window:
    """Adds up what the rollouts of a window were and cost."""

    transitions: int = 0
    vector_steps: int = 0
    messages: int = 0
    bytes_moved: int = 0
    restarts: int = 0
    dropped: int = 0
    lags: list[int] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    def add(self, rollout: Rollout) -> None:
        counters = rollout.counters
        parts = {name: float(getattr(counters, name)) for name in PHASES}
        off = abs(sum(parts.values()) - counters.wall)
        if off > _TOLERANCE * counters.wall + 1e-6:
            raise CollectError(
                f"the collector's phases sum to {sum(parts.values()):.4f} s, its wall time is "
                f"{counters.wall:.4f} s; they must be equal"
            )
        for name, value in parts.items():
            self.seconds[name] += value
        self.transitions += rollout.transitions
        self.vector_steps += len(rollout.actions)
        self.messages += counters.messages
        self.bytes_moved += counters.bytes_moved
        self.restarts += counters.restarts
        self.dropped += counters.dropped
        self.lags += counters.lag
        self.marks += rollout.marks

    def phases_of(self, wall: float) -> dict[str, float]:
        """Seconds by phase; what passed between two collects is idle."""
        between = max(0.0, wall - sum(self.seconds.values()))
        return {**self.seconds, "idle": self.seconds["idle"] + between}

    def totals(self) -> dict[str, Any]:
        return {
            "transitions": self.transitions,
            "vector_steps": self.vector_steps,
            "messages": self.messages,
            "bytes_moved": self.bytes_moved,
            "restarts": self.restarts,
            "dropped": self.dropped,
            "lag_mean": _mean(self.lags),
            "lag_max": max(self.lags, default=0),
        }


class _Notes(logging.Handler):
    """Keeps each warning once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.lines[record.getMessage()] = None


def _mean(values: Iterable[int]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
