"""Threads that share out tasks for as long as somebody works with them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

Task = Callable[[int], None]
"""Takes the number of the thread it runs in, 0 for the caller's."""


class Crew:
    """The calling thread and its helpers; there are helpers only inside `at_work`."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have helpers until the end of the block: none is left when somebody wants to fork."""
        if self.threads == 1 or self._pool is not None:
            yield
            return
        with ThreadPoolExecutor(self.threads, "learner") as pool:
            self._pool = pool
            try:
                yield
            finally:
                self._pool = None

    def run(self, tasks: Sequence[Task]) -> None:
        """Run all tasks, in any order, and raise what one of them raised."""
        numbers = itertools.count()

        def share(thread: int) -> None:
            while (number := next(numbers)) < len(tasks):
                tasks[number](thread)

        helpers = []
        if self._pool is not None:
            helping = range(1, min(self.threads, len(tasks)))
            helpers = [self._pool.submit(share, thread) for thread in helping]
        try:
            share(0)
        finally:
            for helper in helpers:
                helper.result()
