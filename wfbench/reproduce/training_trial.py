"""One training in a process of its own, so that its time and memory are its own too."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.bench.runner import ONE_THREAD
from wfbench.contract import CollectError, TrainSample
from wfbench.isolated import Isolated, IsolationError, inside
from wfbench.search.job import SearchJob

from .training import train_sample

_LIMIT = 3600.0
"""Seconds after which a training counts as hung; the waits inside it are shorter."""


@dataclass(frozen=True)
class Failed:
    """Why there is no sample."""

    cause: str


@dataclass(frozen=True)
class Task:
    """What to train."""

    job: SearchJob
    round: int
    seed: int


def train_apart(task: Task) -> TrainSample:
    """The sample of a fresh process; CollectError says why there is none."""
    process = Isolated("wfbench.reproduce.training_trial", ONE_THREAD)
    try:
        answer = process.ask(task, _LIMIT)
    except IsolationError as error:
        raise CollectError(str(error)) from error
    finally:
        process.close()
    if isinstance(answer, Failed):
        raise CollectError(answer.cause)
    sample: TrainSample = answer
    return sample


def main(descriptor: str) -> None:
    """Train and send the sample, or why there is none."""
    connection = inside(descriptor)
    task: Task = connection.recv()
    try:
        answer: TrainSample | Failed
        answer, _ = train_sample(task.job, task.round, task.seed, memory=True)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
        answer = Failed(f"{type(error).__name__}: {' '.join(str(error).split())}")
    connection.send(answer)
