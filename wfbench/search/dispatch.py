"""Runs searches on an executor: hands out their tasks, listens, and makes good what is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from time import monotonic

from wfbench.contract import Call, Executor, ExecutorError, News

from .loop import Search
from .tasks import Failure, Task, Trained, Update

TRAIN = "wfbench.search.training:train"
RETRIES = 3
"""How often the training of one order is begun again after it was lost."""
_TICK = 0.5


def run_searches(searches: Sequence[Search], executor: Executor) -> None:
    """Run all to their end.

    In this process they take turns, batch by batch. Whoever comes first changes from round to
    round, so that what slows the machine down for a while slows all of them alike. Elsewhere
    whatever can be trained is trained at once.
    """
    for search in searches:
        search.begin()
    _Dispatch(searches, executor).run()


@dataclass
class _Attempt:
    """One task on the executor. What it yields counts only if it comes to an end."""

    search: Search
    task: Task
    number: int
    heard_at: float = field(default_factory=monotonic)
    values: list[Update | Trained | Failure] = field(default_factory=list)


class _Dispatch:
    def __init__(self, searches: Sequence[Search], executor: Executor) -> None:
        self._searches = searches
        self._executor = executor
        self._queue: deque[tuple[Search, Task, int]] = deque()
        self._running: dict[int, _Attempt] = {}
        self._keys = count()
        self._turn = 0

    def run(self) -> None:
        while self._refill() or self._running:
            self._submit()
            self._listen()

    def _refill(self) -> bool:
        """Ask whoever has nothing to do; whether there is anything to submit."""
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

    def _listen(self) -> None:
        for news in self._executor.wait(_TICK) if self._running else ():
            if news.key in self._running:
                self._take(news)
        patience = self._executor.patience
        for key, attempt in list(self._running.items()):
            if monotonic() - attempt.heard_at > patience:
                self._executor.cancel(key)
                self._lose(key, f"nothing was heard of it for {patience:g} s")

    def _take(self, news: News) -> None:
        attempt = self._running[news.key]
        attempt.heard_at = monotonic()
        if news.kind == "lost":
            self._lose(news.key, str(news.value))
        elif news.kind == "value":
            if self._executor.in_process:
                attempt.search.hear(attempt.task, news.value)
            else:
                attempt.values.append(news.value)
        else:
            self._end(news.key)

    def _end(self, key: int) -> None:
        attempt = self._running.pop(key)
        attempt.search.stop()
        for value in attempt.values:
            attempt.search.hear(attempt.task, value)

    def _lose(self, key: int, cause: str) -> None:
        attempt = self._running.pop(key)
        attempt.search.stop()
        if attempt.number > RETRIES:
            error = ExecutorError(
                f"workflow {attempt.task.workflow} was lost {attempt.number} times, at last: "
                f"{cause}"
            )
            attempt.search.fail(attempt.task, error)
            raise error
        attempt.search.lost(attempt.task, cause)
        self._queue.appendleft((attempt.search, attempt.task, attempt.number + 1))
