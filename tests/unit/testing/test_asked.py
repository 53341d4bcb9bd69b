"""What each promise asks of a collector that keeps them all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest
from simulated_collector import Good, Options

from wfbench.testing.collector_promises import COLLECTOR, isolation

ELSEWHERE = {"parent-killed", "interrupted", "modest-workers", "reset-after-death", "phases"}
"""Those about real processes or the real time."""


def told() -> list[str]:
    """Return what was asked for since the last time, in short."""
    runs = [(line, len(list(same))) for line, same in groupby(Good.log)]
    Good.log.clear()
    return [f"  {line}" + (f" (x {times})" if times > 1 else "") for line, times in runs]


@pytest.mark.parametrize("module", ["delivery", "faults", "isolation", "lifecycle", "resets"])
@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("scalar", ("deterministic", "workers", "restart", "reset")),
        ("batched", ("batched-only", "reset")),
    ],
)
def test_what_each_promise_asks_of_a_collector(
    module: str,
    name: str,
    declared: tuple[str, ...],
    judge: Callable[..., Any],
    golden: Callable[[str, str], None],
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # pytest may have threads of its own.
    alone = SimpleNamespace(
        active_count=lambda: 1,
        enumerate=list,
        main_thread=threading.main_thread,
        excepthook=threading.excepthook,
    )
    monkeypatch.setattr(isolation, "threading", alone)
    lines = []
    Good.log.clear()
    for slug, promise in COLLECTOR.by_slug.items():
        if promise.check.__module__.endswith(f".{module}"):
            needs = ", ".join(sorted(promise.needs))
            lines += [f"{slug} [{needs}] {promise.limit:g} s: {promise.name}"]
            if slug not in ELSEWHERE:
                without = {"workers"} if slug == "late-start" else set()
                result = judge(Good, slug, *(set(declared) - without), options=Options)
                lines += [*told(), f"  -> {result.kept} {result.detail}"]
            if clock.slept:
                lines += [f"  slept {clock.slept}"]
                clock.slept.clear()
    golden(f"{module}-{name}.txt", "\n".join(lines))
