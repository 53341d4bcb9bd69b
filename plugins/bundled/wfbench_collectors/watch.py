"""Watches the workers of a collector: their messages and their deaths, together.

A worker's death shows as the end of its stream and as a report of the nursery, in either sequence.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from wfbench.contract import WorkerError

from .launch import take_nursery
from .wire import CollectorEnd, Kind, Message, connect, ready

_EXIT_GRACE = 1.0
"""Grace period for an exit code after a worker's stream has ended."""

News = tuple[list[tuple[int, Message]], set[int]]
"""Messages with the workers that sent them, and the workers that died."""


@dataclass
class Worker:
    """One worker as its supervisor sees it."""

    end: CollectorEnd
    exitcode: int | None = None
    dead: bool = False


class Watch:
    """The nursery and its workers, by number."""

    def __init__(self, method: str, preload: Sequence[str], until: float) -> None:
        self.nursery = take_nursery(method, preload, until)
        self.workers: list[Worker] = []
        self.traffic = (0, 0)
        """Messages and bytes sent and received."""
        self._exited: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self.nursery, selectors.EVENT_READ, None)

    def spawn(self, worker: int, until: float) -> None:
        """Start a worker, in the place of the one with its number, if there is one."""
        end, descriptors = connect()
        try:
            self.nursery.spawn(worker, descriptors, until)
            self._selector.register(end, selectors.EVENT_READ, worker)
        except BaseException:
            end.close()
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self.workers[worker : worker + 1] = [Worker(end)]

    def retire(self, worker: int) -> bool:
        """Make sure that a worker is gone and release its connection; return whether it is gone."""
        old = self.workers[worker]
        if old.exitcode is None:
            self.nursery.signal(worker, signal.SIGKILL)
            if self.await_exit(worker) is None:
                return False
        self._exited.discard(worker)
        self._mark_dead(old)
        old.end.close()
        return True

    def alive(self) -> list[int]:
        """Return the workers that are not known to be dead."""
        return [index for index, worker in enumerate(self.workers) if not worker.dead]

    def send(self, worker: int, data: bytes, until: float) -> bool:
        """Send an encoded request; return whether it was taken in time. The dead take anything."""
        if not self.workers[worker].end.send(data, until):
            return False
        self._count(len(data))
        return True

    def poll(self, until: float) -> News:
        """Wait for anything to happen; both parts are empty if nothing did until then.

        A worker's own failure is raised as the `WorkerError` it sent.
        """
        wait = 0.0 if self._exited else max(0.0, until - monotonic())
        messages: list[tuple[int, Message]] = []
        died: set[int] = set()
        for key, _ in self._selector.select(wait):
            if key.data is None:
                self._record_exits()
            else:
                self._read(key.data, messages, died)
        exited, self._exited = self._exited, set()
        for index in exited:
            if not self.workers[index].dead:
                # What the dead had still sent counts.
                self._read(index, messages, died)
                self._mark_dead(self.workers[index])
            died.add(index)
        return messages, died

    def read(self, workers: Iterable[int]) -> News:
        """Return what these workers have sent by now, and which of them died."""
        messages: list[tuple[int, Message]] = []
        died: set[int] = set()
        for worker in workers:
            self._read(worker, messages, died)
        return messages, died

    def await_exit(self, worker: int) -> int | None:
        """Return the exit code of a worker, after a grace period; None if there is none yet."""
        until = monotonic() + _EXIT_GRACE
        while self.workers[worker].exitcode is None:
            left = until - monotonic()
            if left <= 0 or not ready(self.nursery.fileno(), left):
                break
            self._record_exits()
        return self.workers[worker].exitcode

    def close(self, timeout: float) -> None:
        """End the nursery, and with it whatever worker is left."""
        self.nursery.end(timeout)
        self._selector.close()
        for worker in self.workers:
            worker.end.close()

    def _count(self, size: int) -> None:
        self.traffic = self.traffic[0] + 1, self.traffic[1] + size

    def _read(self, index: int, messages: list[tuple[int, Message]], died: set[int]) -> None:
        worker = self.workers[index]
        for message in worker.end.receive():
            self._count(message.size)
            if message.kind == Kind.FAILED:
                error: WorkerError = pickle.loads(message.body)  # noqa: S301 - from our own worker
                raise error
            messages.append((index, message))
        if worker.end.ended:
            self._mark_dead(worker)
            died.add(index)

    def _record_exits(self) -> None:
        """Take down what the nursery reports about ends, its own included."""
        exits = self.nursery.exits()
        if self.nursery.exitcode is not None:
            # It was killed, and its workers with it.
            if self.nursery in self._selector.get_map():
                self._selector.unregister(self.nursery)
            lost = {i: -signal.SIGKILL for i, w in enumerate(self.workers) if w.exitcode is None}
            exits = lost | exits
        for index, code in exits.items():
            self.workers[index].exitcode = code
            self._exited.add(index)

    def _mark_dead(self, worker: Worker) -> None:
        if not worker.dead:
            worker.dead = True
            self._selector.unregister(worker.end)
