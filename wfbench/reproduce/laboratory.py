"""The laboratory that claims are measured in."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

import psutil

from wfbench.bench.model import Settings
from wfbench.bench.schedule import schedule
from wfbench.bench.statistics import mean_estimate, ratio_estimate
from wfbench.contract import (
    CollectCase,
    CollectSample,
    GradientSample,
    Interval,
    TrainCase,
    TrainSample,
)
from wfbench.orders import parse_order
from wfbench.plugins import PluginHost
from wfbench.store.machine import usable_cores

from .collecting import Say, collect_samples
from .gradients import GradientProbe
from .model import Measured
from .training import train_sample, training_job
from .training_trial import Task, train_apart

_KEPT = 40
"""Of a training so many rollouts are kept in the report, evenly spaced."""


class Laboratory:
    """Measures with the plugins of a host, each thing once. See `wfbench.contract.Lab`."""

    def __init__(self, host: PluginHost, *, seed: int, quick: bool, say: Say) -> None:
        self.seed = seed
        self.quick = quick
        self.cores = usable_cores()
        self.measured: list[Measured] = []
        self.used: set[int] = set()
        """Ids of the measurements that were asked for since this was last emptied."""
        self._host = host
        self._say = say
        self._known: dict[str, tuple[int, Any]] = {}

    def collect(
        self, cases: Sequence[CollectCase], *, rounds: int, steps: int, seconds: float
    ) -> list[list[CollectSample]]:
        """The samples of each case by round."""
        settings = Settings(rounds=rounds, steps=steps, seconds=seconds, seed=self.seed)
        asked = {"rounds": rounds, "steps": steps, "seconds": seconds}
        found: list[list[CollectSample]] = self._once(
            "collect",
            cases,
            asked,
            lambda: collect_samples(self._host, cases, settings, self._say),
        )
        return found

    def train(
        self, cases: Sequence[TrainCase], *, rounds: int, fresh: bool = False
    ) -> list[list[TrainSample]]:
        """The samples of each case by round."""
        asked = {"rounds": rounds, "fresh": fresh}
        found: list[list[TrainSample]] = self._once(
            "train", cases, asked, lambda: self._train(cases, rounds, fresh=fresh)
        )
        return found

    def gradients(
        self,
        case: TrainCase,
        batches: Sequence[tuple[int, int]],
        *,
        count: int,
        rounds: int,
        part: str = "",
    ) -> list[list[GradientSample]]:
        """For each kind of batch its samples by round."""
        asked = {"batches": list(batches), "count": count, "rounds": rounds, "part": part}
        found: list[list[GradientSample]] = self._once(
            "gradients",
            [case],
            asked,
            lambda: self._gradients(case, batches, count=count, rounds=rounds, part=part),
        )
        return found

    def mean(self, values: Sequence[float]) -> Interval:
        """The mean over rounds with its interval."""
        return Interval(**asdict(mean_estimate(values)))

    def ratio(self, values: Sequence[float], reference: Sequence[float]) -> Interval:
        """How many times the reference, paired by round, with its interval."""
        return Interval(**asdict(ratio_estimate(values, reference)))

    def _train(
        self, cases: Sequence[TrainCase], rounds: int, *, fresh: bool
    ) -> list[list[TrainSample]]:
        jobs = [training_job(self._host, case) for case in cases]
        found: list[list[TrainSample]] = [[] for _ in cases]
        for slot in schedule(len(cases), Settings(rounds=rounds, seed=self.seed)):
            job = jobs[slot.case]
            if fresh:
                sample = train_apart(Task(job, slot.round, slot.seed))
            else:
                sample, _ = train_sample(job, slot.round, slot.seed, memory=False)
            found[slot.case].append(sample)
            self._say(_training_line(cases[slot.case], sample, rounds))
        return found

    def _gradients(
        self,
        case: TrainCase,
        batches: Sequence[tuple[int, int]],
        *,
        count: int,
        rounds: int,
        part: str,
    ) -> list[list[GradientSample]]:
        job = training_job(self._host, case)
        order = parse_order(case.orders[-1], job.model.units)
        found: list[list[GradientSample]] = [[] for _ in batches]
        for slot in schedule(1, Settings(rounds=rounds, seed=self.seed)):
            _, state = train_sample(job, slot.round, slot.seed, memory=False)
            probe = GradientProbe(job, state, order, count=count, part=part)
            for samples, (n_envs, episodes) in zip(found, batches, strict=True):
                samples.append(probe.sample(n_envs, episodes, slot.round, slot.seed))
                self._say(
                    f"round {slot.round + 1}/{rounds}  gradients of {n_envs} x {episodes} "
                    f"episodes  cosine {samples[-1].cosine:.3f}"
                )
        return found

    def _once(
        self, kind: str, cases: Sequence[Any], asked: dict[str, Any], measure: Callable[[], Any]
    ) -> Any:
        described = tuple(asdict(case) for case in cases)
        key = json.dumps([kind, described, asked], sort_keys=True)
        if key not in self._known:
            before = psutil.getloadavg()[0]
            samples = measure()
            number = len(self.measured) + 1
            load = (round(before, 2), round(psutil.getloadavg()[0], 2))
            kept = tuple(tuple(_kept(one) for one in of_case) for of_case in samples)
            self.measured.append(Measured(number, kind, described, asked, kept, load))
            self._known[key] = number, samples
        number, samples = self._known[key]
        self.used.add(number)
        return samples


def _training_line(case: TrainCase, sample: TrainSample, rounds: int) -> str:
    last = sample.workflows[-1]
    return (
        f"round {sample.round + 1}/{rounds}  {case.trainer}  {case.collector}  {case.env}  "
        f"{last.env_steps:,} steps  {sample.working:.1f} s  compliance {last.compliance:.2f}"
    )


def _kept(sample: Any) -> dict[str, Any]:
    """A sample as it is kept: whole, but for rollouts beyond a readable number."""
    if not is_dataclass(sample) or isinstance(sample, type):
        raise TypeError(f"{sample!r} is not a sample")
    data = asdict(sample)
    for workflow in data.get("workflows", ()):
        rollouts = workflow["rollouts"]
        total = len(rollouts["env_steps"])
        if total > _KEPT:
            places = [round(i * (total - 1) / (_KEPT - 1)) for i in range(_KEPT)]
            workflow["rollouts"] = {k: [v[p] for p in places] for k, v in rollouts.items()}
    return data
