"""Samples of training, a small search in a temporary directory, and of gradients at its end."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.benchmarks.measure.trial import error_parts
from wfbench.collecting.seeding import Purpose, make_plan, purpose_seed
from wfbench.contract import (
    Arrays,
    CollectError,
    Collector,
    EnvInfo,
    GradientSample,
    Order,
    Rollout,
    Rollouts,
    TrainCase,
    Trainer,
    TrainerSetup,
    TrainSample,
    UsageError,
    WorkflowSample,
)
from wfbench.host.manager import PluginHost
from wfbench.processes import usage as process_tree
from wfbench.processes.children import parent_channel
from wfbench.processes.isolated import Isolated, IsolationError
from wfbench.processes.limits import ONE_THREAD
from wfbench.search.engine import run_searches
from wfbench.search.job import SearchJob
from wfbench.search.launching import started
from wfbench.search.planning import plan_jobs
from wfbench.settings.config import PRESETS, RunConfig
from wfbench.settings.sources import ResolvedConfig, select_run

Floats = NDArray[np.float64]
_WATCHED = 2
"""Rollouts of each workflow after which memory is read; it does not grow later."""
_LIMIT = 3600.0
"""Seconds after which a training counts as hung; the waits inside it are shorter."""


def training_job(host: PluginHost, case: TrainCase) -> SearchJob:
    """Return the search that a case asks for; its seed is set in each round."""
    if not case.orders:
        raise UsageError("a training case names no order")
    settings = {
        **PRESETS["per-order"],
        "inherit": "previous",
        **case.settings,
        "env": case.env,
        "collector": (case.collector,),
        "trainer": (case.trainer,),
        "searcher": f"given:orders={'+'.join(case.orders)}",
        "workflows": len(case.orders),
    }
    try:
        config = RunConfig(**settings)
    except TypeError as error:
        raise UsageError(f"a training case has settings that do not exist: {error}") from error
    [job] = plan_jobs(config, select_run(host, ResolvedConfig(config, {}, {}, {})))
    return job


def train_sample(
    job: SearchJob, number: int, seed: int, *, memory: bool
) -> tuple[TrainSample, Arrays]:
    """Return one round of a case, and the trainer's state after its last order."""
    watch = _Watch(memory=memory)
    seeded = replace(job, config=replace(job.config, seed=seed))
    with tempfile.TemporaryDirectory(prefix="wfbench-reproduce-") as folder:
        out = Path(folder)
        with started([seeded], out, "training", lambda _job, _run: [watch], smoke=True) as [search]:
            run_searches([search])
            seconds = search.recorded().work
            state = search.store.trainer_state(len(watch.workflows) - 1)
    sample = TrainSample(
        round=number,
        seed=seed,
        workflows=tuple(watch.workflows),
        seconds={name: round(spent, 6) for name, spent in seconds.items()},
        memory=watch.memory,
    )
    return sample, state


def train_in_fresh_process(job: SearchJob, number: int, seed: int) -> TrainSample:
    """Train in a fresh process, so that time and memory are those of the training alone.

    Raises CollectError if it failed, took its process along, or took too long.
    """
    with closing(Isolated(__name__, ONE_THREAD)) as process:
        try:
            answer: TrainSample | CollectError = process.ask((job, number, seed), _LIMIT)
        except IsolationError as error:
            raise CollectError(str(error)) from error
    if isinstance(answer, CollectError):
        raise answer
    return answer


def main(descriptor: str) -> None:
    """Train once; runs in the fresh process."""
    connection = parent_channel(descriptor)
    job, number, seed = connection.recv()
    try:
        connection.send(train_sample(job, number, seed, memory=True)[0])
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
        connection.send(CollectError(error_line(error)))


def error_line(error: Exception) -> str:
    """Return the type and the message of an error in one line."""
    kind, message = error_parts(error)
    return f"{kind}: {message or 'no message'}"


class _Watch:
    """Collects what a sample needs from the events of a search."""

    def __init__(self, *, memory: bool) -> None:
        self.workflows: list[WorkflowSample] = []
        self.memory = 0
        self._measures_memory = memory
        self._updates: list[Mapping[str, Any]] = []

    def __call__(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "update":
            self._updates.append(event)
            if self._measures_memory and len(self._updates) <= _WATCHED:
                now = process_tree.memory_bytes(process_tree.tree())
                self.memory = max(self.memory, now)
        elif event["event"] == "workflow-finished":
            self.workflows.append(_workflow(event, self._updates))
            self._updates = []


def _workflow(event: Mapping[str, Any], updates: list[Mapping[str, Any]]) -> WorkflowSample:
    same = {n: event[n] for n in WorkflowSample.__dataclass_fields__ if n != "rollouts"}
    columns = ("env_steps", "transitions", "compliance", "return")
    rollouts = Rollouts(*(tuple(update[name] for update in updates) for name in columns))
    return WorkflowSample(**same, rollouts=rollouts)


@dataclass(frozen=True)
class GradientProbe:
    """A frozen policy, and how often and for which part its gradients are sampled."""

    job: SearchJob
    state: Arrays
    order: Order
    count: int
    part: str

    def __post_init__(self) -> None:
        if self.count < 2:
            raise UsageError(
                f"{self.count} batches cannot be compared with each other; take 2 or more"
            )

    def sample(self, n_envs: int, episodes: int, number: int, seed: int) -> GradientSample:
        """Collect batches of `episodes` episodes of each env and compare their gradients."""
        job = self.job
        collector: Collector = job.collector.build()
        with collector:
            plan = make_plan(job.ref, n_envs, seed, purpose=Purpose.EVALUATION)
            trainer = self._trainer(collector.open(plan), seed)
            shaper, policy = job.shaper(self.order), trainer.policy()
            gradients, returns = [], []
            for _ in range(self.count):
                rollout = collector.collect(policy, episodes * job.episode_steps)
                shaped = shaper.shape(rollout)
                gradients.append(self._gradient(trainer, rollout, shaped.rewards))
                returns.append(float(shaped.episodes.env_return.mean()))
        cosine, variance, signal = agreement(np.stack(gradients))
        return GradientSample(
            round=number,
            seed=seed,
            n_envs=n_envs,
            episodes=episodes,
            batches=self.count,
            cosine=cosine,
            variance=variance,
            signal=signal,
            env_return=float(np.mean(returns)),
            transitions=rollout.transitions,
        )

    def _trainer(self, info: EnvInfo, seed: int) -> Trainer:
        setup = TrainerSetup(
            env=replace(info, workflow=self.job.model),
            seed=purpose_seed(seed, Purpose.TRAINER),
            device=self.job.config.device,
        )
        trainer: Trainer = self.job.trainer.build(setup)
        trainer.start(self.order)
        trainer.load(self.state)
        return trainer

    def _gradient(self, trainer: Trainer, rollout: Rollout, rewards: NDArray[np.float32]) -> Floats:
        ask = getattr(trainer, "gradient", None)
        if ask is None:
            name = self.job.trainer.spec.name
            raise UsageError(f"trainer {name!r} has no method gradient(rollout, rewards)")
        arrays: Arrays = ask(rollout, rewards)
        chosen = [np.asarray(arrays[n]) for n in sorted(arrays) if n.startswith(self.part)]
        if not chosen:
            names = ", ".join(sorted(arrays))
            raise UsageError(f"no gradient's name starts with {self.part!r}; there are {names}")
        return np.concatenate([array.reshape(-1) for array in chosen]).astype(np.float64)


def agreement(gradients: Floats) -> tuple[float, float, float]:
    """Return the mean cosine between rows, their variance, and the squared length of the mean."""
    count = len(gradients)
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    unit = gradients / np.where(lengths > 0, lengths, 1.0)
    cosines = unit @ unit.T
    mean = gradients.mean(axis=0)
    variance = float(np.square(gradients - mean).sum() / (count - 1))
    return (
        float((cosines.sum() - np.trace(cosines)) / (count * (count - 1))),
        variance,
        float(mean @ mean) - variance / count,
    )
