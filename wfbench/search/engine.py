"""Runs searches on an executor: submits their tasks, records results, retries lost work."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

from wfbench.collecting.keeping import keep_open
from wfbench.contract import Call, Executor, ExecutorError, News
from wfbench.processes.in_process import InProcessExecutor

from .search import Search
from .tasks import Failure, Trained, TrainingTask, Update

TRAIN = "wfbench.search.training:train"
RETRIES = 3
"""How often the training of one order is retried after it was lost."""
_TICK = 0.5


def run_searches(searches: Sequence[Search], executor: Executor | None = None) -> None:
    """Run all searches to their end, in this process unless an executor is given.

    In this process they take turns, batch by batch. Which one is first changes from round to
    round, so that a slow spell of the machine affects all of them alike. Other executors train
    whatever can be trained at the same time.
    """
    for search in searches:
        search.begin()
    with keep_open():
        _Dispatch(searches, executor or InProcessExecutor()).run()


@dataclass
class _Attempt:
    """One task on the executor. Its values count only if it comes to an end."""

    search: Search
    task: TrainingTask
    number: int
    last_news: float = field(default_factory=monotonic)
    values: list[Update | Trained | Failure] = field(default_factory=list)


class _Dispatch:
    def __init__(self, searches: Sequence[Search], executor: Executor) -> None:
        self._searches = searches
        self._executor = executor
        self._queue: deque[tuple[Search, TrainingTask, int]] = deque()
        self._running: dict[int, _Attempt] = {}
        self._keys = count()
        self._turn = 0

    def run(self) -> None:
        while self._refill() or self._running:
            self._submit()
            self._wait()

    def _refill(self) -> bool:
        """Ask idle searches for tasks; tell whether anything is queued."""
        if self._queue or (self._executor.in_process and self._running):
            return bool(self._queue)
        searches = self._searches
        for offset in range(len(searches)):
            search = searches[(self._turn + offset) % len(searches)]
            self._queue.extend((search, task, 1) for task in search.ask())
        self._turn += bool(self._queue)
        return bool(self._queue)

    def _submit(self) -> None:
        while self._queue and len(self._running) < self._executor.width:
            search, task, number = self._queue.popleft()
            timed = search.start(task)
            if timed is not None:
                key = next(self._keys)
                self._running[key] = _Attempt(search, timed, number)
                self._executor.submit(key, Call(TRAIN, (search.job, timed)))

    def _wait(self) -> None:
        for news in self._executor.wait(_TICK) if self._running else ():
            if news.key in self._running:
                self._receive(news)
        patience = self._executor.patience
        for key, attempt in list(self._running.items()):
            if monotonic() - attempt.last_news > patience:
                self._executor.cancel(key)
                self._lose(key, f"no news from it for {patience:g} s")

    def _receive(self, news: News) -> None:
        attempt = self._running[news.key]
        attempt.last_news = monotonic()
        if news.kind == "lost":
            self._lose(news.key, str(news.value))
        elif news.kind == "value":
            if self._executor.in_process:
                attempt.search.receive(attempt.task, news.value)
            else:
                attempt.values.append(news.value)
        else:
            self._end(news.key)

    def _end(self, key: int) -> None:
        attempt = self._running.pop(key)
        attempt.search.stop()
        for value in attempt.values:
            attempt.search.receive(attempt.task, value)

    def _lose(self, key: int, cause: str) -> None:
        attempt = self._running.pop(key)
        attempt.search.stop()
        if attempt.number > RETRIES:
            error = ExecutorError(
                f"workflow {attempt.task.workflow} was lost {attempt.number} times, the last time: "
                f"{cause}"
            )
            attempt.search.fail(attempt.task, str(error))
            raise error
        attempt.search.lost(attempt.task, cause)
        self._queue.appendleft((attempt.search, attempt.task, attempt.number + 1))
