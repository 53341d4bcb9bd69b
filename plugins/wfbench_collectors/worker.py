"""What a worker process does: build its environments and answer requests until told to stop."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.faults import cause_of, trace_of
from wfbench.contract import EnvInfo, EnvRef, StepArrays, WorkerError, load_object

from .board import Board
from .launch import ONE_THREAD
from .nursery import die_with_parent
from .wire import Gone, Kind, WorkerEnd


@dataclass(frozen=True)
class Task:
    """What one worker is for."""

    handler: str
    """Import path of the `Handler` class."""
    worker: int
    workers: int
    env: EnvRef
    first: int
    """Index of its first environment."""
    seeds: tuple[int, ...]
    """One per environment."""
    check: bool
    batched: bool
    """Whether to step the batched form."""
    board: str = ""
    """Name of the board's segment; the supervisor sets it."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def envs(self) -> range:
        """The indices of its environments."""
        return range(self.first, self.first + len(self.seeds))

    @property
    def rows(self) -> slice:
        """Where its environments are in arrays of all environments."""
        return slice(self.first, self.first + len(self.seeds))


@dataclass(frozen=True)
class Built:
    """A worker's answer once its environments exist."""

    info: EnvInfo
    pid: int
    threads: Mapping[str, str]
    """What limits the threads of libraries in this worker."""
    true_state: bool
    """Whether all its environments can tell their true state."""


class Envs(Protocol):
    """The environments of a worker, in scalar or batched form."""

    info: EnvInfo

    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """One step of every environment."""

    def has_true_state(self) -> bool:
        """Whether `true_states` can be asked."""

    def true_states(self) -> list[Any]:
        """The full nested state of every environment."""

    def close(self) -> None:
        """Close them."""


class Handler(Protocol):
    """How a worker of one kind of collector answers. Built from (task, board, end)."""

    envs: Envs

    def handle(self, kind: int, body: bytes) -> bytes:
        """Answer a request."""


def main(arguments: Sequence[str]) -> None:
    """Run a worker in a fresh interpreter."""
    descriptors, worker, nursery = json.loads(arguments[0])
    serve(descriptors, worker, nursery)


def serve(descriptors: Sequence[int], worker: int, nursery: int) -> None:
    """Answer requests until the collector closes or is gone; never returns."""
    status = 0
    try:
        die_with_parent(nursery)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What an environment prints must not be lost with a worker that is killed.
            sys.stdout.reconfigure(line_buffering=True)
        _Server(WorkerEnd(*descriptors), worker).run()
    except Gone:
        pass
    except BaseException as error:  # noqa: BLE001 - the last word of a process
        sys.stderr.write(trace_of(error))
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Server:
    def __init__(self, end: WorkerEnd, worker: int) -> None:
        self._end = end
        self._worker = worker
        self._handler: Handler | None = None

    def run(self) -> None:
        while True:
            sequence, kind, body = self._end.receive()
            try:
                reply = self._answer(kind, body)
            except Gone:
                raise
            except WorkerError as error:
                self._end.send(sequence, Kind.FAILED, pickle.dumps(error))
            except BaseException as error:  # noqa: BLE001 - an env may raise anything
                fault = WorkerError(cause_of(error), worker=self._worker, traceback=trace_of(error))
                self._end.send(sequence, Kind.FAILED, pickle.dumps(fault))
            else:
                self._end.send(sequence, Kind.DONE, reply)
                if kind == Kind.CLOSE:
                    return

    def _answer(self, kind: int, body: bytes) -> bytes:
        if kind == Kind.BUILD:
            return self._build(body)
        if kind == Kind.CLOSE:
            if self._handler is not None:
                self._handler.envs.close()
            return b""
        if self._handler is None:
            raise RuntimeError("a worker must build its environments first")
        return self._handler.handle(kind, body)

    def _build(self, body: bytes) -> bytes:
        task: Task = pickle.loads(body)  # noqa: S301 - from our own collector
        board = Board.attach(task.board, task.workers)
        handler: Handler = load_object(task.handler)(task, board, self._end)
        self._handler = handler
        threads = {name: os.environ.get(name, "") for name in ONE_THREAD}
        envs = handler.envs
        return pickle.dumps(Built(envs.info, os.getpid(), threads, envs.has_true_state()))
