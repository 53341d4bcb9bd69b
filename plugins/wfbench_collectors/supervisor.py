"""One supervisor for every collector with worker processes.

No wait is without a deadline. A worker's replies and its death are watched together, so a death is
reported at once, with the environment that was running, its seed and the signal. Ending is a
ladder: ask, terminate, kill; and behind it the nursery, whose end takes every worker with it.
"""

from __future__ import annotations

import os
import pickle
import resource
import selectors
import signal
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from wfbench.collecting.faults import cause_of
from wfbench.contract import (
    CollectError,
    DeadlineError,
    EnvRef,
    Plan,
    UsageError,
    WorkerError,
)

from .board import Board
from .launch import Nursery
from .segments import reap_stale_segments
from .wire import CollectorEnd, Kind, Message, connect, encode, readable
from .worker import Built, Task

_EXIT_REPORT = 1.0
"""Seconds the nursery has for telling how a worker ended whose stream did."""
_SPARE_DESCRIPTORS = 64
_FEW = 4
"""Workers whose replies may each wake the collector."""
_NAP = 0.2


class Worker:
    """One worker as its supervisor sees it."""

    def __init__(self, task: Task, end: CollectorEnd) -> None:
        self.task = task
        self.end = end
        self.exitcode: int | None = None
        self.dead = False
        self.built: Built | None = None


class Supervisor:
    """Starts workers, talks to them, notices when they die, and ends them."""

    def __init__(self, plan: Plan, start_method: str) -> None:
        self._plan = plan
        self._method = start_method
        self._nursery: Nursery | None = None
        self._board: Board | None = None
        self._selector = selectors.DefaultSelector()
        self._sequence = 0
        self._exited: set[int] = set()
        self._unasked: list[tuple[int, Message]] = []
        self._unseen: set[int] = set()
        self.workers: list[Worker] = []
        self.messages = 0
        self.bytes_moved = 0

    @property
    def board(self) -> Board:
        """What the workers let be seen."""
        if self._board is None:
            raise CollectError("no workers were started")
        return self._board

    def start(self, tasks: Sequence[Task], until: float) -> list[Built]:
        """Start one worker per task and have each build its environments."""
        _refuse_too_many(len(tasks))
        reap_stale_segments()
        # No shared memory before the nursery is ready: while it imports, it could not remove what
        # is left if this process is killed.
        self._nursery = Nursery(self._method, _modules(self._plan.env, tasks), until)
        self._board = Board.create(len(tasks))
        self._selector.register(self._nursery, selectors.EVENT_READ, None)
        for task in tasks:
            self.workers.append(self._spawn(task, until))
        return self._build(range(len(tasks)), until)

    def restart(self, worker: int, task: Task, until: float) -> Built:
        """Replace a dead worker; its predecessor is certainly gone."""
        old = self.workers[worker]
        if old.exitcode is None and self._nursery is not None:
            self._nursery.signal(worker, signal.SIGKILL)
            self._await_exit(worker)
            if old.exitcode is None:
                raise self.late([worker])
        self._exited.discard(worker)
        self._unseen.discard(worker)
        self._mark_dead(old)
        old.end.close()
        self.workers[worker] = self._spawn(task, until)
        return self._build([worker], until)[0]

    def next_sequence(self) -> int:
        """A number no request had before."""
        self._sequence += 1
        return self._sequence

    def post(self, worker: int, data: bytes, until: float) -> None:
        """Send an encoded request. A dead worker swallows it; its death shows in `gather`."""
        if not self.workers[worker].end.send(data, until):
            raise self.late([worker])
        self.messages += 1
        self.bytes_moved += len(data)

    def ask(
        self, kind: Kind, bodies: Mapping[int, bytes], until: float, *, survive: bool = False
    ) -> tuple[dict[int, bytes], list[WorkerError]]:
        """Send each worker its body and `gather` the replies."""
        sequence = self.next_sequence()
        for worker, body in bodies.items():
            self.post(worker, encode(sequence, kind, body), until)
        return self.gather(sequence, bodies, until, survive=survive)

    def gather(
        self, sequence: int, workers: Iterable[int], until: float, *, survive: bool = False
    ) -> tuple[dict[int, bytes], list[WorkerError]]:
        """The replies to request `sequence`, and with `survive` the deaths instead of an error.

        Replies to older requests are thrown away. What workers send unasked, and deaths of others,
        are kept for `poll`. DeadlineError if a reply is missing at `until`.
        """
        waiting = set(workers)
        replies: dict[int, bytes] = {}
        deaths: list[WorkerError] = []
        for worker in [w for w in waiting if self.workers[w].dead]:
            self._bury(worker, waiting, deaths, survive=survive)
        if len(waiting) > _FEW:
            self._nap(max(waiting), until)
        while waiting:
            messages, died = self._poll(until)
            if not messages and not died and monotonic() >= until:
                raise self.late(waiting)
            for worker, message in messages:
                if message.kind == Kind.STRETCH:
                    self._unasked.append((worker, message))
                elif message.sequence == sequence and worker in waiting:
                    replies[worker] = message.body
                    waiting.discard(worker)
            self._unseen |= died - waiting
            for worker in died & waiting:
                self._bury(worker, waiting, deaths, survive=survive)
        return replies, deaths

    def _nap(self, worker: int, until: float) -> None:
        """Sleep until the worker asked last has answered, rather than wake once for every reply.

        By then most others have. A death is seen after the nap, so it is a short one.
        """
        nap = min(_NAP, max(0.0, until - monotonic()))
        readable(self.workers[worker].end.fileno(), nap)

    def poll(self, until: float) -> tuple[list[tuple[int, Message]], set[int]]:
        """Wait for anything to happen: messages that came and workers that died.

        Both are empty if nothing did until then. A worker's own failure is raised as the
        `WorkerError` it sent.
        """
        unasked, self._unasked = self._unasked, []
        unseen, self._unseen = self._unseen, set()
        messages, died = self._poll(0.0 if unasked or unseen else until)
        return unasked + messages, unseen | died

    def _poll(self, until: float) -> tuple[list[tuple[int, Message]], set[int]]:
        wait = 0.0 if self._exited else max(0.0, until - monotonic())
        messages: list[tuple[int, Message]] = []
        died: set[int] = set()
        for key, _ in self._selector.select(wait):
            if key.data is None:
                self._record_exits()
            else:
                self._read(key.data, messages, died)
        return messages, died | self._see_exits(messages) if self._exited else died

    def late(self, workers: Collection[int]) -> DeadlineError:
        """The error to raise when these workers did not answer in time."""
        names = []
        for index in sorted(workers)[:3]:
            task, env = self.workers[index].task, self.board.running_env(index)
            where = f"worker {index}"
            if env is not None:
                where += f" (in env {env}, seed {task.seeds[env - task.first]})"
            names.append(where)
        more = f" and {len(workers) - 3} more" if len(workers) > 3 else ""
        return DeadlineError(
            f"no answer in time from {', '.join(names)}{more}; "
            "an environment hangs, or is slower than the plan's deadlines allow"
        )

    def death(self, worker: int) -> WorkerError:
        """How a dead worker died, as the error to raise or to mark a sample with."""
        self._await_exit(worker)
        found = self.workers[worker]
        env = self.board.running_env(worker)
        if env is None and len(found.task.envs) == 1:
            env = found.task.first
        code = found.exitcode
        error = WorkerError("", worker=worker, exitcode=code)
        if code is None:
            cause = "closed its connection and did not end"
        elif code < 0:
            cause = f"killed by {error.signal}"
            if -code == signal.SIGKILL:
                cause += " (the out-of-memory killer, or someone)"
        else:
            cause = f"exited with status {code} in the middle of its work"
        seed = None if env is None else found.task.seeds[env - found.task.first]
        if env is None:
            cause += f"; it had envs {found.task.envs[0]} to {found.task.envs[-1]} and was in none"
        return WorkerError(cause, worker=worker, env=env, seed=seed, exitcode=code)

    def close(self, timeout: float) -> None:
        """End every worker and release everything, within `timeout` seconds."""
        until = monotonic() + timeout
        if self._nursery is not None:
            self._descend(self._nursery, timeout)
            self._nursery.end(min(0.15 * timeout, max(0.0, until - monotonic())))
            self._nursery = None
        self._selector.close()
        for worker in self.workers:
            worker.end.close()
        self.workers = []
        if self._board is not None:
            self._board.close()
            self._board = None

    def _descend(self, nursery: Nursery, timeout: float) -> None:
        request = encode(self.next_sequence(), Kind.CLOSE)
        for worker in self._alive():
            self.workers[worker].end.send(request, 0.0)
        self._await_deaths(monotonic() + 0.3 * timeout)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for worker in self._alive():
                nursery.signal(worker, number)
            self._await_deaths(monotonic() + 0.2 * timeout)

    def _alive(self) -> list[int]:
        return [index for index, worker in enumerate(self.workers) if not worker.dead]

    def _await_deaths(self, until: float) -> None:
        while self._alive():
            with suppress(WorkerError):
                self.poll(until)
            if monotonic() >= until:
                return

    def _spawn(self, task: Task, until: float) -> Worker:
        if self._nursery is None:
            raise CollectError("no workers were started")
        task = replace(task, board=self.board.name)
        end, descriptors = connect()
        worker = Worker(task, end)
        try:
            self._selector.register(end, selectors.EVENT_READ, task.worker)
            self._nursery.spawn(task.worker, descriptors, until)
        except BaseException:
            end.close()
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return worker

    def _build(self, workers: Iterable[int], until: float) -> list[Built]:
        bodies = {index: _pickled(self.workers[index].task) for index in workers}
        replies, _ = self.ask(Kind.BUILD, bodies, until)
        built = []
        for index in bodies:
            answer: Built = pickle.loads(replies[index])  # noqa: S301 - from our own worker
            self.workers[index].built = answer
            built.append(answer)
        return built

    def _read(self, index: int, messages: list[tuple[int, Message]], died: set[int]) -> None:
        worker = self.workers[index]
        for message in worker.end.receive():
            self.messages += 1
            self.bytes_moved += message.size
            if message.kind == Kind.FAILED:
                error: WorkerError = pickle.loads(message.body)  # noqa: S301 - as above
                raise error
            messages.append((index, message))
        if worker.end.ended:
            self._mark_dead(worker)
            died.add(index)

    def _record_exits(self) -> None:
        """Take down what the nursery reports about ends, its own included."""
        if self._nursery is None:
            return
        for index, _, code in self._nursery.exits():
            self.workers[index].exitcode = code
            self._exited.add(index)
        if self._nursery.exitcode is not None:
            self._orphan(self._nursery)

    def _see_exits(self, messages: list[tuple[int, Message]]) -> set[int]:
        """Deaths by report rather than by end of stream; what the dead had still sent counts."""
        exited, self._exited = self._exited, set()
        died: set[int] = set()
        for index in exited:
            if not self.workers[index].dead:
                self._read(index, messages, died)
                self._mark_dead(self.workers[index])
            died.add(index)
        return died

    def _orphan(self, nursery: Nursery) -> None:
        """The nursery itself was killed, and its workers with it."""
        if nursery in self._selector.get_map():
            self._selector.unregister(nursery)
        for index, worker in enumerate(self.workers):
            if worker.exitcode is None:
                worker.exitcode = -signal.SIGKILL
                self._exited.add(index)

    def _mark_dead(self, worker: Worker) -> None:
        if not worker.dead:
            worker.dead = True
            self._selector.unregister(worker.end)

    def _bury(
        self, worker: int, waiting: set[int], deaths: list[WorkerError], *, survive: bool
    ) -> None:
        death = self.death(worker)
        if not survive:
            raise death
        deaths.append(death)
        waiting.discard(worker)

    def _await_exit(self, worker: int) -> None:
        until = monotonic() + _EXIT_REPORT
        while self.workers[worker].exitcode is None and self._nursery is not None:
            left = until - monotonic()
            if left <= 0 or not readable(self._nursery.fileno(), left):
                return
            self._record_exits()


def _modules(env: EnvRef, tasks: Sequence[Task]) -> list[str]:
    """What a worker will import, so that it can be imported once for all of them."""
    paths = [__package__ + ".worker:", tasks[0].handler, env.factory]
    if env.batched is not None and tasks[0].batched:
        paths.append(env.batched)
    return [path.partition(":")[0] for path in paths]


def _pickled(task: Task) -> bytes:
    try:
        return pickle.dumps(task)
    except Exception as error:
        raise UsageError(
            f"the options of environment {task.env.name!r} cannot be sent to a worker "
            f"({cause_of(error)}); give plain values and an import path as factory"
        ) from error


def _refuse_too_many(workers: int) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and 2 * workers + _SPARE_DESCRIPTORS > soft:
        raise UsageError(
            f"{workers} workers need more than the {soft} descriptors this process may open; "
            "raise the limit (ulimit -n) or use fewer workers"
        )
