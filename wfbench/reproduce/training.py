"""Samples of training: a small search over given orders, in a directory that is thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wfbench.bench import process_tree
from wfbench.config import RunConfig
from wfbench.contract import Arrays, Rollouts, TrainCase, TrainSample, UsageError, WorkflowSample
from wfbench.layers import Effective
from wfbench.plugins import PluginHost
from wfbench.run_selection import select_run
from wfbench.search.job import SearchJob
from wfbench.search.launching import started
from wfbench.search.planning import plan_jobs

_WATCHED = 2
"""Of so many rollouts of each workflow memory is looked at: it does not grow after that."""


def training_job(host: PluginHost, case: TrainCase) -> SearchJob:
    """The search that a case asks for; its seed is set for each round."""
    if not case.orders:
        raise UsageError("a training case names no order")
    settings = {
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
    [job] = plan_jobs(config, select_run(host, Effective(config, {}, {}, {})))
    return job


def train_sample(
    job: SearchJob, number: int, seed: int, *, memory: bool
) -> tuple[TrainSample, Arrays]:
    """One round of a case, and the trainer's state when its last order was done."""
    watch = _Watch(memory=memory)
    seeded = replace(job, config=replace(job.config, seed=seed))
    with tempfile.TemporaryDirectory(prefix="wfbench-reproduce-") as folder:
        out = Path(folder)
        with started([seeded], out, "training", lambda _job, _run: [watch], smoke=True) as [search]:
            search.run()
            state = search.store.load_checkpoint(len(watch.workflows) - 1).trainer
    sample = TrainSample(
        round=number,
        seed=seed,
        workflows=tuple(watch.workflows),
        seconds={name: round(seconds, 6) for name, seconds in search.seconds.items()},
        memory=watch.memory,
    )
    return sample, state


class _Watch:
    """Takes from the events of a search what a sample holds."""

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
    def column(name: str) -> tuple[Any, ...]:
        return tuple(update[name] for update in updates)

    same = {n: event[n] for n in WorkflowSample.__dataclass_fields__ if n != "rollouts"}
    return WorkflowSample(
        **same,
        rollouts=Rollouts(
            env_steps=column("env_steps"),
            transitions=column("transitions"),
            compliance=column("compliance"),
            env_return=column("return"),
        ),
    )
