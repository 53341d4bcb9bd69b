"""What every check stands on: the subject, environments to put it to, and the reference."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wfbench.contract import (
    Collector,
    CollectorSpec,
    Deadlines,
    EnvRef,
    Plan,
    Policy,
    Rollout,
    load_object,
)
from wfbench.options import declared_options, resolve_options
from wfbench.plugins import PluginHost
from wfbench.policies import RandomPolicy
from wfbench.seeding import make_plan
from wfbench.selection import env_ref, select

from .verdict import BrokenPromiseError, DoesNotApply, expect

ACTIONS = 6
STEPS = 12
N_ENVS = 5
EPISODE = 5
SLACK = 2.0
"""Seconds on top of a deadline before it counts as missed: other programs want the cores too."""

PATIENT = Deadlines(start=90.0, step=60.0, close=5.0)
"""For checks in which nothing is meant to be late."""


@dataclass
class Ground:
    """The subject of a conformance check and what it is compared with."""

    spec: CollectorSpec
    options: Mapping[str, Any]
    host: PluginHost
    scratch: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="wfbench-kit-")))

    def build(self, **changed: Any) -> Collector:
        """A new collector; `changed` options replace the given ones."""
        options = resolve_options(self.spec, {**self.options, **changed})
        collector: Collector = load_object(self.spec.factory)(**options)
        return collector

    def declares(self, option: str) -> bool:
        """Whether the subject has an option of this name."""
        return option in {declared.name for declared in declared_options(self.spec)}

    @property
    def deterministic(self) -> bool:
        """Whether the subject promises the same hash for the same plan and seed."""
        return "deterministic" in self.spec.capabilities

    def env(self, **options: Any) -> EnvRef:
        """The synthetic environment; the form with a batched kernel if the subject needs one."""
        if "batched-only" in self.spec.capabilities:
            return self.batched_env(**options)
        return self._env("synthetic", options)

    def batched_env(self, **options: Any) -> EnvRef:
        """The synthetic environment that has a batched form and neither costs nor faults."""
        return self._env("synthetic-batch", options)

    def _env(self, name: str, options: Mapping[str, Any]) -> EnvRef:
        given = {"num_actions": ACTIONS, "episode_length": EPISODE, **options}
        choice = select(self.host, {"env": [name]}, {name: given})["env"][0]
        return env_ref(choice)

    def plan(
        self,
        env: EnvRef | None = None,
        *,
        n_envs: int = N_ENVS,
        seed: int = 7,
        deadlines: Deadlines = PATIENT,
    ) -> Plan:
        """A plan for a few small environments."""
        return make_plan(env or self.env(), n_envs, seed, deadlines=deadlines)

    def faulty(
        self, fault: str, *, env: int = 2, deadlines: Deadlines = PATIENT, **options: Any
    ) -> Fault:
        """A plan in which one environment has a fault, and when it happened."""
        if "batched-only" in self.spec.capabilities:
            raise DoesNotApply("faults are injected into scalar environments")
        marker = self.scratch / f"{fault}-{time.monotonic_ns()}"
        ref = self.env(fault=fault, fault_env=env, fault_once=str(marker), **options)
        return Fault(fault, env, self.plan(ref, deadlines=deadlines), marker)

    def collect(
        self,
        plan: Plan,
        policy: Policy | None = None,
        steps: Sequence[int] = (STEPS,),
        changed: Mapping[str, Any] | None = None,
    ) -> list[Rollout]:
        """What the subject delivers, with `changed` options in place of the given ones."""
        with closing(self.build(**(changed or {}))) as collector:
            collector.open(plan)
            return [collector.collect(policy or RandomPolicy(ACTIONS), count) for count in steps]

    def reference(
        self, plan: Plan, policy: Policy | None = None, steps: Sequence[int] = (STEPS,)
    ) -> list[Rollout]:
        """What the sequential collector delivers."""
        chosen = select(self.host, {"collector": ["sequential"]})["collector"][0]
        with closing(chosen.build()) as collector:
            collector.open(plan)
            return [collector.collect(policy or RandomPolicy(ACTIONS), count) for count in steps]


@dataclass(frozen=True)
class Fault:
    """A fault that is going to happen."""

    name: str
    env: int
    plan: Plan
    marker: Path

    @property
    def seed(self) -> int:
        """The seed of the environment it happens in."""
        return self.plan.env_seeds[self.env]

    def happened(self) -> float:
        """The wall-clock time at which it happened."""
        if not self.marker.exists():
            raise BrokenPromiseError(f"environment {self.env} never got to its fault {self.name}")
        return self.marker.stat().st_mtime


@contextmanager
def closing(collector: Collector) -> Iterator[Collector]:
    """Close the collector at the end, whatever happens."""
    try:
        yield collector
    finally:
        collector.close()


def close_in_time(collector: Collector, limit: float, state: str) -> None:
    """Close, and expect that it ends within `limit` seconds and raises nothing."""
    started = time.perf_counter()
    try:
        collector.close()
    except Exception as error:
        raise BrokenPromiseError(
            f"close() {state} raised {type(error).__name__}: {error}"
        ) from error
    took = time.perf_counter() - started
    expect(took <= limit + SLACK, f"close() {state} took {took:.1f} s; its deadline is {limit:g} s")
