"""What a worker process does: build its environments and answer requests until told to stop."""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from wfbench.collecting.batch import build_slice
from wfbench.collecting.faults import cause_of, trace_of
from wfbench.contract import EnvInfo, WorkerError, load_object
from wfbench.processes.children import die_with_parent
from wfbench.processes.segments import Segment

from .board import Board, Note
from .tasks import WorkerTask
from .wire import Gone, Kind, WorkerEnd


@dataclass(frozen=True)
class Built:
    """A worker's answer once its environments exist."""

    info: EnvInfo
    true_state: bool
    """Whether all its environments can tell their true state."""


class Handler(ABC):
    """How a worker of one kind of collector answers."""

    def __init__(self, task: WorkerTask, board: Board, end: WorkerEnd) -> None:
        self.task = task
        self._notes = board.row(task.worker)
        self._end = end
        self.envs = build_slice(
            task.env,
            task.envs,
            task.seeds,
            batched=task.batched,
            worker=task.worker,
            check=task.check,
            progress=self._note_running,
        )
        self._notes[Note.ENV] = 0

    @abstractmethod
    def handle(self, kind: int, body: bytes) -> bytes:
        """Answer a request."""

    def _note_running(self, env: int) -> None:
        self._notes[Note.ENV] = env + 1


def main(setup: tuple[list[int], int, int]) -> None:
    """Run a worker in a fresh interpreter."""
    serve(*setup)


def serve(descriptors: Sequence[int], worker: int, nursery: int) -> None:
    """Answer requests until the collector closes or is gone; never return."""
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
        task: WorkerTask = pickle.loads(body)  # noqa: S301 - from our own collector
        board = Board(Segment.attach(task.board))
        handler: Handler = load_object(task.handler)(task, board, self._end)
        self._handler = handler
        return pickle.dumps(Built(handler.envs.info, handler.envs.has_true_state()))
