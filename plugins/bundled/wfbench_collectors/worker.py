"""What a worker process does: build its environments and answer requests until told to stop."""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wfbench.collecting.batch import build_slice
from wfbench.collecting.faults import cause_of, trace_of
from wfbench.contract import EnvInfo, WorkerError, load_object
from wfbench.processes.children import die_with_parent
from wfbench.processes.segments import Segment

from .shared import Board, Note
from .tasks import WorkerTask
from .wire import Gone, Kind, WorkerEnd


class Built(NamedTuple):
    """A worker's answer once its environments exist."""

    info: EnvInfo
    true_state: bool
    """Whether all its environments can tell their true state."""


class Handler:
    """How a worker of one kind of collector answers.

    It has a method for each request it can answer, named like its `Kind`.
    """

    def __init__(self, task: WorkerTask, board: Board, end: WorkerEnd) -> None:
        self.task = task
        self._board = board
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
        self._answers: dict[int, Callable[[bytes], bytes]] = {
            kind: getattr(self, name) for kind in Kind if hasattr(self, name := kind.name.lower())
        }

    def handle(self, kind: int, body: bytes) -> bytes:
        """Answer a request."""
        reply = self._answers[kind](body)
        self._notes[Note.ENV] = 0
        return reply

    def close(self) -> None:
        """Close the environments and release what is shared."""
        self.envs.close()
        self._board.close()

    def _note_running(self, env: int) -> None:
        self._notes[Note.ENV] = env + 1


def main(setup: tuple[Sequence[int], int, int]) -> None:
    """Answer requests until the collector closes or is gone; never return.

    `setup` is the descriptors of requests and replies, the worker's number and its nursery's pid.
    """
    descriptors, worker, nursery = setup
    status = 0
    try:
        die_with_parent(nursery)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What an environment prints must not be lost with a worker that is killed.
            sys.stdout.reconfigure(line_buffering=True)
        _answer_all(WorkerEnd(*descriptors), worker)
    except Gone:
        pass
    except BaseException as error:  # noqa: BLE001 - the last word of a process
        sys.stderr.write(trace_of(error))
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _answer_all(end: WorkerEnd, worker: int) -> None:
    """Answer requests up to the one to close."""
    handler: Handler | None = None
    kind: int | None = None
    while kind != Kind.CLOSE:
        sequence, kind, body = end.receive()
        reply = b""
        try:
            if handler is not None and kind in {Kind.BUILD, Kind.CLOSE}:
                handler.close()
            if kind == Kind.BUILD:
                handler = _build(body, end)
                reply = pickle.dumps(Built(handler.envs.info, handler.envs.has_true_state()))
            elif handler is not None and kind != Kind.CLOSE:
                reply = handler.handle(kind, body)
        except Gone:
            raise
        except BaseException as error:  # noqa: BLE001 - an env may raise anything
            if not isinstance(error, WorkerError):
                error = WorkerError(cause_of(error), worker=worker, traceback=trace_of(error))
            end.send(sequence, Kind.FAILED, pickle.dumps(error))
        else:
            end.send(sequence, Kind.DONE, reply)


def _build(body: bytes, end: WorkerEnd) -> Handler:
    task, board = pickle.loads(body)  # noqa: S301 - from our own collector
    handler: Handler = load_object(task.handler)(task, Board(Segment.attach(board)), end)
    return handler
