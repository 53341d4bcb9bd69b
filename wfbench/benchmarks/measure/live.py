"""Live processes that take turns of some milliseconds.

The speed of a machine drifts over tenths of a second, so both meet the same machine. The one that
rests is stopped with all of its workers: what spins or runs freely would disturb the other.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import shuffle
from typing import Any

from wfbench.benchmarks.measure.turns import Turn
from wfbench.contract import CollectError
from wfbench.processes.isolated import Isolated, IsolationError

TURN = 0.02
"""Seconds of a turn; it ends with the collect in which they are over."""
_NICE = -20
_ANSWER = 180.0
"""Seconds until an answer must be there."""


class Live:
    """A process that is stopped with all of its workers unless it is asked something.

    Where the system allows it, it goes before other programs.
    """

    def __init__(self, process: Isolated) -> None:
        self._process = process
        _prefer(process.pid)
        self.members = [process.pid]
        """The process and its workers."""

    def ask(self, *question: Any, limit: float = _ANSWER) -> Any:
        """Return the answer; raise CollectError if there is none or it is an error."""
        self._signal(signal.SIGCONT)
        try:
            problem, answer = self._process.ask(question, limit)
        except IsolationError as error:
            raise CollectError(str(error)) from error
        self._signal(signal.SIGSTOP)
        if problem is not None:
            raise CollectError(f"{problem}: {answer or 'no message'}")
        return answer

    def adopt(self, workers: Iterable[int]) -> None:
        """Stop these processes, too, and whenever this one rests."""
        self.members += workers
        self._signal(signal.SIGSTOP)

    def turn(self, cores: Sequence[int], *question: Any, limit: float = _ANSWER) -> Turn:
        """Ask for a turn, beginning with its threads dealt over the cores anew.

        Where the system puts the threads of a process decides its speed, and it leaves them there
        for seconds: without new luck in every turn, the luck of a process would look like a change.
        Threads that the collector itself bound to cores stay there.
        """
        found = (int(one.name) for pid in self.members for one in _threads(pid))
        threads = [thread for thread in found if _is_free(thread, cores)]
        shuffle(threads)
        for place, thread in enumerate(threads):
            _move(thread, {cores[place % len(cores)]})
        self._signal(signal.SIGCONT)
        for thread in threads:
            _move(thread, cores)
        return Turn(*self.ask("turn", *question, limit=limit))

    def close(self) -> None:
        """End the process and everything it started; safe to call twice."""
        self._signal(signal.SIGCONT)
        self.members = []
        self._process.close()

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.members:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def take_turns(
    sides: Sequence[Callable[[], Turn]], seconds: float, least: int = 1, *, second: bool = False
) -> tuple[list[Turn], list[Turn]]:
    """Let two sides take turns in the order ABBA until each has had its seconds.

    There are at least so many blocks. With `second` the second side begins.
    """
    turns: tuple[list[Turn], list[Turn]] = ([], [])
    order = (1, 0, 0, 1) if second else (0, 1, 1, 0)
    while len(turns[0]) < 2 * least or min(sum(t.wall for t in taken) for taken in turns) < seconds:
        for which in order:
            turns[which].append(sides[which]())
    return turns


def _prefer(pid: int) -> None:
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)
    # Where sessions share the cores as groups, niceness counts only within one.
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(_NICE), encoding="ascii")


def _threads(pid: int) -> list[Path]:
    with suppress(FileNotFoundError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def _is_free(thread: int, cores: Sequence[int]) -> bool:
    with suppress(ProcessLookupError):
        return os.sched_getaffinity(thread) == set(cores)
    return False


def _move(thread: int, cores: Iterable[int]) -> None:
    with suppress(ProcessLookupError):
        os.sched_setaffinity(thread, cores)
