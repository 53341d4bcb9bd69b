"""A collector that keeps every promise in this process: it plays what would happen to workers."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from wfbench.contract import (
    CollectError,
    DeadlineError,
    EnvInfo,
    EnvRef,
    Plan,
    Policy,
    Rollout,
    UsageError,
    WorkerError,
    option,
)
from wfbench_collectors.sequential import SequentialCollector
from wfbench_synthetic.options import SyntheticOptions

EXITS = {"kill": -9, "segv": -11, "exit": 3, "ctor-exit": 3}
MANY = 500
"""Collects after which a check would never end."""
LATE = ("hang", "stop", "slow", "ctor-hang")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that promises look for."""

    workers: int = option(1, "workers")
    threads: int = option(1, "threads")
    start_method: str = option("fork", "how workers start")
    on_worker_death: str = option("raise", "what a death leads to")


class Good(SequentialCollector):
    """Keeps every promise. Faults are played, not suffered: this process must survive them."""

    log: ClassVar[list[str]] = []
    """What every collector of this class was asked for."""
    when: ClassVar[float] = 1000.0
    """When faults happen."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
        self.fault, self.failed, self.restarts, self.calls = "", False, 0, 0
        given = {name: value for name, value in options.items() if value != vars(Options())[name]}
        self.log.append(f"build {given or ''}".rstrip())

    def open(self, plan: Plan) -> EnvInfo:
        """Open, or fail as the fault of the plan says."""
        self.log.append(f"open {_plan(plan)}")
        self.asked = plan
        self.fault, self.restarts = str(plan.env.options.get("fault", "")).partition("@")[0], 0
        once = plan.env.options.get("fault_once")
        in_time = plan.env.options.get("fault_seconds", 0.0) < plan.deadlines.step
        if (once and Path(once).exists()) or (self.fault == "slow" and in_time):
            self.fault = ""
        if self.fault.startswith("ctor"):
            self.happen()
            raise self.error()
        if not self.fault:
            return super().open(plan)
        harmless = {**plan.env.options, "fault": "", "fault_once": ""}
        return super().open(replace(plan, env=replace(plan.env, options=harmless)))

    def collect(self, policy: Policy, steps: int) -> Rollout:
        """Collect, or fail as the fault of the plan says, or replace a worker."""
        weights = [round(float(abs(part[0]).sum()), 3) for part in getattr(policy, "actor", ())]
        self.calls += 1
        if self.calls > MANY:
            raise RuntimeError("it is never enough")
        self.log.append(f"collect {steps} by {type(policy).__name__} {policy.version} {weights}")
        if self.failed:
            raise CollectError("it failed")
        if self.fault and self.fault != "close-hang":
            self.happen()
            if self.options.get("on_worker_death") != "restart":
                self.failed = True
                raise self.error()
            self.restarts += 1
            if not self.asked.env.options["fault_once"]:
                raise CollectError("too many restarts")
            self.fault = ""
            rollout = self.deliver(policy, steps)
            counters = replace(rollout.counters, restarts=1)
            return replace(rollout, counters=counters, marks=("a worker was replaced",))
        return self.deliver(policy, steps)

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        """Collect where nothing fails."""
        return super().collect(policy, steps)

    def reset(self, plan: Plan) -> EnvInfo:
        """Go on with another plan."""
        self.log.append(f"reset {_plan(plan)}")
        if self.failed:
            raise UsageError("it failed")
        healthy = {**plan.env.options, "fault": "", "fault_once": ""}
        if "fault" in plan.env.options:
            plan = replace(plan, env=replace(plan.env, options=healthy))
        return super().reset(plan)

    def close(self) -> None:
        """Close; a worker that hangs then is killed."""
        self.log.append("close")
        if self.fault == "close-hang":
            self.happen()
            logging.getLogger("simulated").warning("worker 0 was killed")
        self.fault, self.failed = "", False
        super().close()

    def happen(self) -> None:
        """Let the fault happen."""
        if marker := self.asked.env.options["fault_once"]:
            Path(marker).touch()
            os.utime(marker, (self.when, self.when))

    def error(self) -> BaseException:
        """Return what a caller is told of the fault."""
        if self.fault in LATE:
            return DeadlineError("it came too late")
        env = self.asked.env.options["fault_env"]
        code = EXITS.get(self.fault)
        cause = "RuntimeError: synthetic fault, nan"
        found = WorkerError(
            cause if code is None else "died",
            worker=0,
            env=env,
            seed=self.asked.env_seeds[env],
            exitcode=code,
            traceback="Traceback: synthetic fault",
        )
        if code is not None:
            found.args = (f"{found}, {found.signal or code}",)
        return found


def _plan(plan: Plan) -> str:
    limits = "/".join(f"{limit:g}" for limit in vars(plan.deadlines).values())
    form = f" as {plan.env.form}" if plan.env.form else ""
    return f"{plan.n_envs} x {_env(plan.env)}{form}, seed {plan.env_seeds[0]}, {limits} s"


def _env(env: EnvRef) -> str:
    usual = vars(SyntheticOptions(num_actions=6, episode_length=5))
    told = []
    for name, value in env.options.items():
        if isinstance(value, EnvRef):
            told.append(f"{name}=({_env(value)})")
        elif callable(value) or "/" in str(value):
            told.append(f"{name}=...")
        elif usual.get(name, "nothing") != value:
            told.append(f"{name}={value}")
    return " ".join([f"{env.name} ({'batched' if env.batched else 'scalar'})", *told])
