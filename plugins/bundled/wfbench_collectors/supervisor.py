"""One supervisor for every collector with worker processes.

No wait is without a deadline. A worker's replies and its death are watched together, so a death is
reported at once, with the environment that was running, its seed and the signal. Ending is a
ladder: ask, terminate, kill; and behind it the nursery, whose end takes every worker with it.
"""

from __future__ import annotations

import logging
import pickle
import resource
import signal
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from wfbench.collecting.faults import cause_of
from wfbench.contract import DeadlineError, Plan, UsageError, WorkerError
from wfbench.processes.children import exit_text
from wfbench.processes.leftovers import remove_stale_segments

from .options import ProcessOptions
from .shared import Board
from .tasks import WorkerTask, common_info, fresh_seeds
from .watch import News, Watch
from .wire import Kind, Message, encode, ready
from .worker import Built

log = logging.getLogger(__name__)

_SPARE_DESCRIPTORS = 64
_NAP = 0.2


class Supervisor:
    """Starts a worker per task, talks to them, notices when they die, replaces and ends them.

    `tasks` is kept up to date: a replaced worker's environments have new seeds, derived from those
    of the plan, so that no stream is collected twice and what killed the worker need not recur.
    """

    watch: Watch
    board: Board

    def __init__(self, plan: Plan, options: ProcessOptions, tasks: list[WorkerTask]) -> None:
        self.tasks = tasks
        self.restarts = 0
        """How many dead workers were replaced."""
        self._plan = plan
        self._options = options
        self._sequence = 0
        self._unasked: list[tuple[int, Message]] = []
        self._unseen: set[int] = set()
        self._told_late: set[int] = set()
        """Workers of which the caller knows that they did not answer."""

    def start(self, until: float) -> Built:
        """Start the workers; return what their environments have in common."""
        workers = range(len(self.tasks))
        _refuse_too_many(len(workers))
        remove_stale_segments()
        # No shared memory before the nursery is ready: while it imports, it could not remove what
        # is left if this process is killed.
        self.watch = Watch(self._options.start_method, self.modules(), until)
        self.board = Board.create(len(workers))
        for worker in workers:
            self.watch.spawn(worker, until)
        return self.build(until)

    def assign(self, plan: Plan, tasks: Sequence[WorkerTask]) -> None:
        """Go on with other tasks, one per worker, as if no worker had been replaced."""
        self._plan, self.tasks[:], self.restarts = plan, tasks, 0
        self.board.clear()

    def build(self, until: float) -> Built:
        """Have workers build the environments of their tasks; return what those have in common."""
        built = self._build(range(len(self.tasks)), until)
        info = common_info([answer.info for answer in built])
        return Built(info, all(answer.true_state for answer in built))

    def revive(self, death: WorkerError, prepare: Callable[[WorkerTask, float], None]) -> str:
        """Replace a dead worker and `prepare` the new one; return the mark of the sample.

        Raise the death itself if deaths are not to be survived, or too many were.
        """
        first, worker = death, death.worker
        while True:
            self._refuse_more(death)
            if not self.watch.retire(worker):
                raise self.late([worker])
            self._unseen.discard(worker)
            self.restarts += 1
            task = self.tasks[worker]
            seeds = fresh_seeds(self._plan.env_seeds[task.rows], self.restarts)
            task = self.tasks[worker] = replace(task, seeds=seeds)
            until = monotonic() + self._plan.deadlines.start
            try:
                self.watch.spawn(worker, until)
                self._build([worker], until)
                prepare(task, until)
            except WorkerError as error:
                if error.exitcode is None:
                    raise
                death = error
            else:
                return f"restarted with new seeds after {first}"

    def next_sequence(self) -> int:
        """Return a number no request had before."""
        self._sequence += 1
        return self._sequence

    def post(self, worker: int, data: bytes, until: float) -> None:
        """Send an encoded request. A dead worker swallows it; its death shows in `gather`."""
        if not self.watch.send(worker, data, until):
            raise self.late([worker])

    def ask(
        self, kind: Kind, bodies: Mapping[int, bytes], until: float, *, survive: bool = False
    ) -> tuple[dict[int, bytes], list[WorkerError]]:
        """Send each worker its body and `gather` the replies."""
        sequence = self.next_sequence()
        empty = encode(sequence, kind)
        for worker, body in bodies.items():
            self.post(worker, encode(sequence, kind, body) if body else empty, until)
        return self.gather(sequence, bodies, until, survive=survive)

    def gather(
        self, sequence: int, workers: Iterable[int], until: float, *, survive: bool
    ) -> tuple[dict[int, bytes], list[WorkerError]]:
        """Return the replies to request `sequence`, and with `survive` the deaths.

        Without `survive` a death is raised. Replies to older requests are discarded. What workers
        send unasked, and deaths of others, are kept for `poll`. Raise DeadlineError if a reply is
        missing at `until`.
        """
        waiting = set(workers)
        replies: dict[int, bytes] = {}
        deaths: list[WorkerError] = []
        died = {worker for worker in waiting if self.watch.workers[worker].dead}
        messages: list[tuple[int, Message]] = []
        if waiting and not died:
            self._nap(max(waiting), until)
            messages, died = self.watch.read(waiting)
        while True:
            for worker, message in messages:
                if message.kind == Kind.STRETCH:
                    self._unasked.append((worker, message))
                elif message.sequence == sequence and worker in waiting:
                    replies[worker] = message.body
                    waiting.discard(worker)
            self._unseen |= died - waiting
            for worker in died & waiting:
                death = self.death(worker)
                if not survive:
                    raise death
                deaths.append(death)
                waiting.discard(worker)
            if not waiting:
                return replies, deaths
            messages, died = self.watch.poll(until)
            if not messages and not died and monotonic() >= until:
                raise self.late(waiting)

    def _nap(self, worker: int, until: float) -> None:
        """Sleep until the worker asked last has answered, rather than wake once for every reply.

        By then most others have. A death is seen after the nap, so it is a short one.
        """
        nap = min(_NAP, max(0.0, until - monotonic()))
        ready(self.watch.workers[worker].end.fileno(), nap)

    def poll(self, until: float) -> News:
        """Wait for anything to happen, as `Watch.poll` does, or return what `gather` kept."""
        unasked, self._unasked = self._unasked, []
        unseen, self._unseen = self._unseen, set()
        messages, died = self.watch.poll(0.0 if unasked or unseen else until)
        return unasked + messages, unseen | died

    def late(self, workers: Collection[int]) -> DeadlineError:
        """Return the error to raise when these workers did not answer in time."""
        self._told_late |= set(workers)
        return DeadlineError(
            f"no answer in time from {self._names(workers)}; "
            "an environment hangs, or is slower than the plan's deadlines allow"
        )

    def _names(self, workers: Collection[int]) -> str:
        """Return which workers these are, with the environments that they are in."""
        names = []
        for index in sorted(workers)[:3]:
            task, env = self.tasks[index], self.board.running_env(index)
            where = f"worker {index}"
            if env is not None:
                where += f" (in env {env}, seed {task.seeds[env - task.first]})"
            names.append(where)
        more = f" and {len(workers) - 3} more" if len(workers) > 3 else ""
        return ", ".join(names) + more

    def death(self, worker: int) -> WorkerError:
        """Return how a dead worker died, as the error to raise or to mark a sample with."""
        code = self.watch.await_exit(worker)
        task, env = self.tasks[worker], self.board.running_env(worker)
        if env is None and len(task.envs) == 1:
            env = task.first
        cause = "closed its connection and did not end" if code is None else exit_text(code)
        if code == -signal.SIGKILL:
            cause += " (the out-of-memory killer, or someone)"
        elif code is not None and code >= 0:
            cause += " in the middle of its work"
        seed = None if env is None else task.seeds[env - task.first]
        if env is None:
            cause += f"; it had envs {task.envs[0]} to {task.envs[-1]} and was stepping none"
        return WorkerError(cause, worker=worker, env=env, seed=seed, exitcode=code)

    def close(self, timeout: float) -> None:
        """End every worker and release everything, within `timeout` seconds.

        A worker that had to be killed, of which the caller knows nothing yet, is logged as a
        warning.
        """
        until = monotonic() + timeout
        if hasattr(self, "watch"):
            self._descend(timeout)
            self.watch.close(min(0.15 * timeout, max(0.0, until - monotonic())))
        if hasattr(self, "board"):
            self.board.close()

    def _descend(self, timeout: float) -> None:
        watch, request = self.watch, encode(self.next_sequence(), Kind.CLOSE)
        for worker in watch.alive():
            watch.send(worker, request, 0.0)
        self._await_deaths(monotonic() + 0.3 * timeout)
        hung = set(watch.alive()) - self._told_late
        if hung:
            log.warning(
                "%s did not end within %.1f s of being asked to and had to be killed; "
                "an environment hangs, or is very slow",
                self._names(hung),
                0.3 * timeout,
            )
        for number in (signal.SIGTERM, signal.SIGKILL):
            for worker in watch.alive():
                watch.nursery.signal(worker, number)
            self._await_deaths(monotonic() + 0.2 * timeout)

    def _await_deaths(self, until: float) -> None:
        while self.watch.alive():
            with suppress(WorkerError):
                self.watch.poll(until)
            if monotonic() >= until:
                return

    def _build(self, workers: Iterable[int], until: float) -> list[Built]:
        bodies = {worker: self._order(self.tasks[worker]) for worker in workers}
        replies, _ = self.ask(Kind.BUILD, bodies, until)
        return [pickle.loads(replies[worker]) for worker in bodies]  # noqa: S301 - our own worker's

    def _order(self, task: WorkerTask) -> bytes:
        """Return the request to build the environments of a task."""
        try:
            return pickle.dumps((task, self.board.name))
        except Exception as error:
            raise UsageError(
                f"the options of environment {task.env.name!r} cannot be sent to a worker "
                f"({cause_of(error)}); give plain values and an import path as factory"
            ) from error

    def modules(self) -> list[str]:
        """Return what a worker will import, so that it can be imported once for all of them."""
        task, env = self.tasks[0], self._plan.env
        paths = [__package__ + ".worker:", task.handler, env.factory]
        if env.batched is not None and task.batched:
            paths.append(env.batched)
        return [path.partition(":")[0] for path in paths]

    def _refuse_more(self, death: WorkerError) -> None:
        if not self._options.survives_deaths:
            raise death
        if self.restarts >= self._options.restarts:
            cause = f"{death.cause}; {self.restarts} dead workers were replaced before; no more are"
            raise WorkerError(**(vars(death) | {"cause": cause})) from death


def _refuse_too_many(workers: int) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and 2 * workers + _SPARE_DESCRIPTORS > soft:
        raise UsageError(
            f"{workers} workers need more than the {soft} descriptors this process may open; "
            "raise the limit (ulimit -n) or use fewer workers"
        )
