"""Record what happens in a search: store it, tell observers, keep count of steps and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from wfbench.processes.compile_time import compile_seconds
from wfbench.store.events import EventTime, LogEntry, RunEvent, encode_event
from wfbench.store.run import RunStore

from .phases import PhaseClock, Stopwatch, added

Observer = Callable[[Mapping[str, Any]], None]
"""Receives every event as JSON values after it was stored, and `run-resumed` and `worker-lost`,
which are not stored. `event` says what happened."""


class Recorder:
    """Records the events of one search, one after the other."""

    def __init__(self, store: RunStore, observers: Sequence[Observer]) -> None:
        self.clock = PhaseClock()
        self.env_steps_spent = store.entries[-1].env_steps_spent if store.entries else 0
        self._store = store
        self._observers = tuple(observers)
        # They run while anything of this search is going on, in whatever process it is done.
        self._watch, self._compile_watch = Stopwatch(), Stopwatch(compile_seconds)
        self._elapsed_before = store.entries[-1].time.elapsed if store.entries else 0.0

    @property
    def elapsed(self) -> float:
        """Return the seconds that passed while anything of this search was going on."""
        return self._elapsed_before + self._watch.elapsed()

    @property
    def limited(self) -> float:
        """Return the elapsed seconds that a time limit counts: all but those of compiling here."""
        return self.elapsed - self._compile_watch.elapsed()

    def start(self) -> None:
        """Note that one more thing of this search has begun."""
        self._watch.start()
        self._compile_watch.start()

    def stop(self) -> None:
        """Note that one of them has ended."""
        self._watch.stop()
        self._compile_watch.stop()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time inside as work of the search itself."""
        self.start()
        try:
            with self.clock.phase("loop"):
                yield
        finally:
            self.stop()

    def record(
        self,
        event: RunEvent,
        lap: Mapping[str, float] | None = None,
        training: float | None = None,
    ) -> None:
        """Store an event and notify observers; what that costs counts towards the next event.

        `lap` are the seconds by phase of the training the event reports, `training` the seconds of
        one that ended.
        """
        own = self.clock.lap()
        time_ = EventTime(
            at=round(time.time(), 3),
            elapsed=round(self.elapsed, 7),
            work=own if lap is None else added(own, lap),
            training=None if training is None else round(training, 7),
        )
        with self.clock.phase("store"):
            values = self._store.record(LogEntry(event, self.env_steps_spent, time_))
        self._tell(values)

    def notify(self, event: RunEvent) -> None:
        """Tell observers of an event that is not stored."""
        spent = {"env_steps_spent": self.env_steps_spent}
        self._tell(encode_event(event, self._store.config.units) | spent)

    def _tell(self, values: Mapping[str, Any]) -> None:
        with self.clock.phase("observers"):
            for observer in self._observers:
                observer(values)
