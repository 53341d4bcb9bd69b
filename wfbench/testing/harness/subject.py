"""The collector under test, environments to put it to, and the reference it is compared with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from wfbench.collecting.seeding import make_plan
from wfbench.contract import (
    Collector,
    CollectorSpec,
    Deadlines,
    EnvRef,
    Plan,
    Policy,
    Rollout,
    Shipment,
    load_object,
    ship_local,
)
from wfbench.host.descriptors import local_spec
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.host.options import declared_options, resolve_options
from wfbench.policies import RandomPolicy
from wfbench.settings.selection import env_ref, select
from wfbench.testing.difference import difference
from wfbench.testing.promise import BrokenPromiseError, DoesNotApply, Promises, expect

ACTIONS = 6
STEPS = 12
N_ENVS = 5
EPISODE = 5
POLICY = RandomPolicy(ACTIONS)
SLACK = 2.0
"""Seconds on top of a deadline before it counts as missed: other programs need the cores too."""

LATE = 10.0
"""Seconds after which a fault that was not reported counts as not noticed."""

PATIENT = Deadlines(start=90.0, step=60.0, close=5.0)
"""For checks in which nothing is meant to be late."""


@dataclass(frozen=True)
class SubjectRef:
    """A collector and its options in a form that can be sent to another process."""

    collector: str | CollectorSpec
    options: Mapping[str, Any]
    shipment: Shipment | None = None
    """The class, if it was defined in a script or notebook; `collector` is its import path."""

    @classmethod
    def of(cls, collector: str | type | CollectorSpec, options: Mapping[str, Any]) -> SubjectRef:
        """Refer to a collector by its name, its descriptor or its class."""
        if isinstance(collector, type):
            collector = cast("CollectorSpec", local_spec("collector", collector))
        if isinstance(collector, CollectorSpec):
            shipment = ship_local(collector.factory)
            if shipment is not None:
                return cls(collector.factory, dict(options), shipment)
        return cls(collector, dict(options))

    def load(self, scratch: Path) -> CollectorUnderTest:
        """Return the collector, in whichever process this is; it may write into `scratch`."""
        host = load_plugins(PluginSettings())
        spec = self.collector
        if self.shipment is not None:
            self.shipment.install()
            spec = cast("CollectorSpec", local_spec("collector", load_object(str(spec))))
        elif isinstance(spec, str):
            spec = cast("CollectorSpec", host.find("collector", spec).spec)
        resolve_options(spec, self.options)
        return CollectorUnderTest(spec, self, host, scratch)


@dataclass(frozen=True)
class InjectedFault:
    """A fault that is going to happen."""

    name: str
    env: int
    plan: Plan
    marker: Path
    patience: float = LATE
    """Seconds for which a collect may still deliver what was collected before it happened."""

    def happened(self) -> float:
        """Return the wall-clock time at which it happened."""
        if not self.marker.exists():
            raise BrokenPromiseError(f"environment {self.env} never got to its fault {self.name}")
        return self.marker.stat().st_mtime

    def error_in(self, collector: Collector, seconds: float) -> BaseException | None:
        """Collect for so long or until it should be known; return the error that a caller gets.

        An asynchronous collector may deliver good rows first.
        """
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                collector.collect(POLICY, STEPS)
                if self.marker.exists() and time.time() - self.happened() > self.patience:
                    break
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what is seen
            return error
        return None


@dataclass(frozen=True)
class CollectorUnderTest:
    """The subject of a check and what it is compared with."""

    spec: CollectorSpec
    ref: SubjectRef
    host: PluginHost
    scratch: Path

    def build(self, **changed: Any) -> Collector:
        """Return a new collector; `changed` options replace the given ones."""
        options = resolve_options(self.spec, {**self.ref.options, **changed})
        collector: Collector = load_object(self.spec.factory)(**options)
        return collector

    @contextmanager
    def opened(self, plan: Plan | None = None, **changed: Any) -> Iterator[Collector]:
        """Yield an open collector, and close it whatever happens."""
        collector = self.build(**changed)
        try:
            collector.open(plan or self.plan())
            yield collector
        finally:
            collector.close()

    @contextmanager
    def closed_in_time(
        self, state: str, *, twice: bool = False, **changed: Any
    ) -> Iterator[Collector]:
        """Yield a new collector, and expect that it closes in time, whatever happened to it."""
        collector = self.build(**changed)
        try:
            yield collector
        finally:
            close_in_time(collector, state)
            if twice:
                close_in_time(collector, f"{state}, the second time,")

    def declares(self, option: str) -> bool:
        """Return whether the subject has an option of this name."""
        return option in {declared.name for declared in declared_options(self.spec)}

    @property
    def deterministic(self) -> bool:
        """Whether the subject promises the same hash for the same plan and seed."""
        return "deterministic" in self.spec.capabilities

    @property
    def batched_only(self) -> bool:
        """Whether the subject needs environments with a batched form."""
        return "batched-only" in self.spec.capabilities

    def env(self, *, batched: bool = False, **options: Any) -> EnvRef:
        """Return the synthetic environment; with a batched form if asked or the subject needs it.

        That one has neither costs nor faults.
        """
        name = "synthetic-batch" if batched or self.batched_only else "synthetic"
        given = {"num_actions": ACTIONS, "episode_length": EPISODE, **options}
        return env_ref(select(self.host, {"env": [name]}, {name: given})["env"][0])

    def plan(
        self,
        env: EnvRef | None = None,
        *,
        n_envs: int = N_ENVS,
        seed: int = 7,
        deadlines: Deadlines = PATIENT,
    ) -> Plan:
        """Return a plan for a few small environments."""
        return make_plan(env or self.env(), n_envs, seed, deadlines=deadlines)

    def noting_plan(self, *, batched: bool = False) -> Plan:
        """Return a plan of environments that note in the scratch directory when they are closed."""
        form = "wfbench.testing.harness.watched_envs:Noting"
        options = {"directory": str(self.scratch), "env_index": 0}
        batch = f"{form}Batch" if batched or self.batched_only else None
        return self.plan(EnvRef("noting", f"{form}Env", batch, options))

    def faulty(
        self, fault: str, *, env: int = 2, deadlines: Deadlines = PATIENT, **options: Any
    ) -> InjectedFault:
        """Return a fault that one environment of its plan will have."""
        if self.batched_only:
            raise DoesNotApply("faults are injected into scalar environments")
        marker = self.scratch / f"{fault}-{time.monotonic_ns()}"
        ref = self.env(fault=fault, fault_env=env, fault_once=str(marker), **options)
        patience = 1.0 if self.deterministic else LATE
        return InjectedFault(fault, env, self.plan(ref, deadlines=deadlines), marker, patience)

    def collect(
        self, plan: Plan, policy: Policy = POLICY, steps: Sequence[int] = (STEPS,), **changed: Any
    ) -> list[Rollout]:
        """Return what the subject delivers, built with `changed` options."""
        with self.opened(plan, **changed) as collector:
            return [collector.collect(policy, count) for count in steps]

    def reference(
        self, plan: Plan, policy: Policy = POLICY, steps: Sequence[int] = (STEPS,)
    ) -> list[Rollout]:
        """Return what the sequential collector delivers."""
        chosen = select(self.host, {"collector": ["sequential"]})["collector"][0]
        with chosen.build() as collector:
            collector.open(plan)
            return [collector.collect(policy, count) for count in steps]

    def expect_reference(self, rollout: Rollout, plan: Plan, detail: str) -> None:
        """Expect the transitions of the sequential collector, if the subject is deterministic."""
        if self.deterministic:
            expect_same_rollout(rollout, self.reference(plan)[0], detail)


def expect_same_rollout(rollout: Rollout, truth: Rollout, detail: str) -> None:
    """Expect every field of a rollout to be the truth's; name the earliest difference."""
    found = difference(rollout, truth)
    expect(found is None, f"{detail}: {found}")


def close_in_time(collector: Collector, state: str) -> None:
    """Close, and expect that it ends in time and raises nothing."""
    started, limit = time.perf_counter(), PATIENT.close
    try:
        collector.close()
    except Exception as error:
        detail = f"close() {state} raised {type(error).__name__}: {error}"
        raise BrokenPromiseError(detail) from error
    took = time.perf_counter() - started
    expect(took <= limit + SLACK, f"close() {state} took {took:.1f} s; its deadline is {limit:g} s")


COLLECTOR: Promises[CollectorUnderTest] = Promises()
"""The promises of a collector, which the modules of `collector_promises` add."""
