"""Collectors that stay open from one use to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from wfbench.contract import (
    Collector,
    EnvInfo,
    Plan,
    Policy,
    ResettableCollector,
    Rollout,
    UsageError,
)

_idle: dict[tuple[str, int], ResettableCollector] | None = None
"""Open collectors that nobody uses, by key and number of environments; None: none are kept."""
_early = ExitStack()
"""What collectors prepared and nobody may have taken over; ends with `keep_open`."""


@contextmanager
def keep_open() -> Iterator[None]:
    """Let every `KeptCollector` of this process that is closed inside stay open for the next one.

    All of them are closed at the end. Whoever runs several calls in one process does it in here.
    """
    global _idle  # noqa: PLW0603 (calls come by import path and can be handed nothing open)
    if _idle is not None:
        yield
        return
    _idle = {}
    try:
        with _early:
            yield
    finally:
        idle, _idle = _idle, None
        for collector in idle.values():
            collector.close()


def prepare_open(collector: Collector, plan: Plan) -> None:
    """Within `keep_open`, let a `PreparedCollector` begin to start what takes long."""
    begin = getattr(collector, "prepared", None)
    if begin is not None and _idle is not None:
        _early.enter_context(begin(plan))


class KeptCollector:
    """A collector that takes over an open one of the same `key`, if there is one, and resets it.

    Within `keep_open`, closing it leaves it open for the next. One that failed is closed for good.
    """

    def __init__(self, build: Callable[[], ResettableCollector], key: str) -> None:
        self._build = build
        self._key = key
        self._collector: ResettableCollector | None = None

    def open(self, plan: Plan) -> EnvInfo:
        """Reset an open collector to this plan, or open a new one."""
        self._place = (self._key, plan.n_envs)
        kept = None if _idle is None else _idle.pop(self._place, None)
        collector = kept or self._build()
        try:
            info = collector.open(plan) if kept is None else collector.reset(plan)
        except BaseException:
            collector.close()
            raise
        self._collector = collector
        return info

    def collect(self, policy: Policy, steps: int) -> Rollout:
        """Collect `steps` more steps of every environment."""
        collector = self._collector
        if collector is None:
            raise UsageError("this collector is not open; open it with a plan first")
        try:
            return collector.collect(policy, steps)
        except BaseException:
            self._collector = None
            collector.close()
            raise

    def close(self) -> None:
        """Leave the collector open for the next one, if any are kept."""
        collector, self._collector = self._collector, None
        if collector is None:
            return
        if _idle is None or self._place in _idle:
            collector.close()
        else:
            _idle[self._place] = collector

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
