"""The laboratory in which claims are measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from itertools import chain
from typing import Any, TypeVar, cast

import psutil

from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Sample, Session, Settings
from wfbench.benchmarks.measure.runner import run_session, schedule
from wfbench.benchmarks.reproduce.model import LabMeasurement
from wfbench.benchmarks.reproduce.training import (
    GradientProbe,
    train_in_fresh_process,
    train_sample,
    training_job,
)
from wfbench.benchmarks.statistics.intervals import mean_estimate, ratio_estimate
from wfbench.contract import (
    CollectCase,
    CollectError,
    CollectSample,
    GradientSample,
    TrainCase,
    TrainSample,
)
from wfbench.host.manager import PluginHost
from wfbench.orders import parse_order
from wfbench.processes.limits import usable_cores

_KEPT = 40
"""Number of rollouts of a training to keep in the report, evenly spaced."""

AnySample = TypeVar("AnySample", CollectSample, TrainSample, GradientSample)
Say = Callable[[str], None]
"""Called with one line about every sample."""


class Laboratory:
    """Measures with the plugins of a host, equal things only once. See `wfbench.contract.Lab`."""

    def __init__(self, host: PluginHost, *, seed: int, quick: bool, say: Say) -> None:
        self.host = host
        self.seed = seed
        self.quick = quick
        self.cores = usable_cores()
        self.measured: list[LabMeasurement] = []
        self.used: set[int] = set()
        """Ids of the measurements requested since this was last cleared."""
        self._say = say
        self._known: dict[str, tuple[int, Any]] = {}

    def collect(
        self, cases: Sequence[CollectCase], *, rounds: int, steps: int, seconds: float
    ) -> list[list[CollectSample]]:
        """Measure collecting; return the samples of each case by round."""
        asked = {"rounds": rounds, "steps": steps, "seconds": seconds}
        return self._once("collect", cases, asked, self._collect)

    def train(
        self, cases: Sequence[TrainCase], *, rounds: int, fresh: bool = False
    ) -> list[list[TrainSample]]:
        """Train; return the samples of each case by round."""
        return self._once("train", cases, {"rounds": rounds, "fresh": fresh}, self._train)

    def gradients(
        self,
        case: TrainCase,
        batches: Sequence[tuple[int, int]],
        *,
        count: int,
        rounds: int,
        part: str = "",
    ) -> list[list[GradientSample]]:
        """Measure gradients; return the samples of each kind of batch by round."""
        asked = {"batches": list(batches), "count": count, "rounds": rounds, "part": part}
        return self._once("gradients", [case], asked, self._gradients)

    mean = staticmethod(mean_estimate)
    ratio = staticmethod(ratio_estimate)

    def _collect(self, cases: Sequence[CollectCase], **asked: Any) -> list[list[CollectSample]]:
        """Measure as `wfbench bench` does; raise CollectError if a sample failed or is marked."""
        # Claims compare other payloads and environments, so there is no equal work to prove, and
        # hundreds of processes, so that they are measured one after the other.
        settings = Settings(seed=self.seed, proof=False, turns=False, **asked)
        chosen = [
            select_cases(
                self.host,
                collectors=[case.collector],
                env=case.env,
                n_envs=[case.n_envs],
                policy=case.policy,
            )[0]
            for case in cases
        ]

        def report(session: Session) -> None:
            for sample in session.samples[-1:]:
                case = cases[sample.case]
                result = sample.problem or f"{sample.rate:,.0f} transitions/s"
                self._say(
                    f"round {sample.round + 1}/{settings.rounds}  {case.collector}  {case.env}  "
                    f"{case.n_envs} envs  {case.policy}  {result}"
                )

        session = run_session(chosen, settings, report)
        return [
            [_checked(case, sample) for sample in session.of_case(index)]
            for index, case in enumerate(cases)
        ]

    def _train(
        self, cases: Sequence[TrainCase], *, rounds: int, fresh: bool
    ) -> list[list[TrainSample]]:
        jobs = [training_job(self.host, case) for case in cases]
        found: list[list[TrainSample]] = [[] for _ in cases]
        plan = schedule(len(cases), Settings(rounds=rounds, seed=self.seed))
        for turn in chain.from_iterable(plan):
            job = jobs[turn.case]
            if fresh:
                sample = train_in_fresh_process(job, turn.round, turn.seed)
            else:
                sample, _ = train_sample(job, turn.round, turn.seed, memory=False)
            found[turn.case].append(sample)
            case, last = cases[turn.case], sample.workflows[-1]
            self._say(
                f"round {turn.round + 1}/{rounds}  {case.trainer}  {case.collector}  {case.env}  "
                f"{last.env_steps:,} steps  {sample.working:.1f} s  "
                f"compliance {last.compliance:.2f}"
            )
        return found

    def _gradients(
        self,
        cases: Sequence[TrainCase],
        *,
        batches: Sequence[tuple[int, int]],
        count: int,
        rounds: int,
        part: str,
    ) -> list[list[GradientSample]]:
        [case] = cases
        job = training_job(self.host, case)
        order = parse_order(case.orders[-1], job.model.units)
        found: list[list[GradientSample]] = [[] for _ in batches]
        for [turn] in schedule(1, Settings(rounds=rounds, seed=self.seed)):
            _, state = train_sample(job, turn.round, turn.seed, memory=False)
            probe = GradientProbe(job, state, order, count=count, part=part)
            for samples, (n_envs, episodes) in zip(found, batches, strict=True):
                samples.append(probe.sample(n_envs, episodes, turn.round, turn.seed))
                self._say(
                    f"round {turn.round + 1}/{rounds}  gradients of {n_envs} x {episodes} "
                    f"episodes  cosine {samples[-1].cosine:.3f}"
                )
        return found

    def _once(
        self,
        kind: str,
        cases: Sequence[Any],
        asked: dict[str, Any],
        measure: Callable[..., list[list[AnySample]]],
    ) -> list[list[AnySample]]:
        described = tuple(asdict(case) for case in cases)
        key = json.dumps([kind, described, asked], sort_keys=True)
        if key not in self._known:
            before = psutil.getloadavg()[0]
            samples = measure(cases, **asked)
            number = len(self.measured) + 1
            load = (round(before, 2), round(psutil.getloadavg()[0], 2))
            kept = tuple(tuple(_kept(one) for one in of_case) for of_case in samples)
            self.measured.append(LabMeasurement(number, kind, described, asked, kept, load))
            self._known[key] = number, samples
        number, known = self._known[key]
        self.used.add(number)
        return cast("list[list[AnySample]]", known)


def _checked(case: CollectCase, sample: Sample) -> CollectSample:
    if not sample.clean:
        raise CollectError(f"{case.collector} on {case.n_envs} x {case.env}: {sample.problem}")
    names = [field.name for field in fields(CollectSample)[2:]]
    measured = {name: getattr(sample.measurement, name) for name in names}
    return CollectSample(sample.round, sample.seed, **measured)


def _kept(sample: CollectSample | TrainSample | GradientSample) -> dict[str, Any]:
    """Return a sample as JSON values, with at most `_KEPT` rollouts of each workflow."""
    data = asdict(sample)
    for workflow in data.get("workflows", ()):
        rollouts = workflow["rollouts"]
        total = len(rollouts["env_steps"])
        if total > _KEPT:
            places = [round(i * (total - 1) / (_KEPT - 1)) for i in range(_KEPT)]
            workflow["rollouts"] = {k: [v[p] for p in places] for k, v in rollouts.items()}
    return data
