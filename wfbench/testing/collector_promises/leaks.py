"""Promises about what is left behind."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from wfbench.contract import WfbenchError
from wfbench.testing.harness import footprint
from wfbench.testing.harness.subject import COLLECTOR, POLICY, STEPS, CollectorUnderTest
from wfbench.testing.promise import expect

_CYCLES = 8
_GROWTH = 16 << 20
"""Bytes that ten thousand episodes may add: the allocator's habits, not a leak."""


@COLLECTOR.add("Close leaves no process, no descriptor and no shared memory")
def _clean_close(subject: CollectorUnderTest) -> None:
    _cycle(subject)
    before = footprint.descriptors()
    for _ in range(_CYCLES):
        _cycle(subject)
    after = footprint.descriptors()
    expect(after <= before, f"{_CYCLES} cycles left {after - before} descriptors open")


def _cycle(subject: CollectorUnderTest) -> None:
    with subject.closed_in_time("after collect") as collector:
        collector.open(subject.plan())
        collector.collect(POLICY, STEPS)
        used = footprint.segments(footprint.tree())
    _expect_gone(used, "close")


def _expect_gone(used: set[str], what: str) -> None:
    footprint.wait_for(lambda: not footprint.children(), 2.0)
    left = footprint.children()
    expect(not left, f"processes that outlive {what}: {sorted(left)}")
    stay = sorted(path for path in used if Path(path).exists())
    expect(not stay, f"shared memory that outlives {what}: {', '.join(stay)}")


@COLLECTOR.add("A failed open leaves no process, no descriptor and no shared memory")
def _clean_failed_open(subject: CollectorUnderTest) -> None:
    plan = subject.faulty("ctor-raise").plan
    before = 0
    for number in range(3):
        with (
            subject.closed_in_time("after a failed open") as collector,
            suppress(WfbenchError),
        ):
            collector.open(plan)
        _expect_gone(footprint.segments(footprint.tree()), "a failed open")
        if number == 0:
            before = footprint.descriptors()
    after = footprint.descriptors()
    expect(after <= before, f"two failed opens left {after - before} descriptors open")


@COLLECTOR.add("Ten thousand episodes take no more memory than a few", limit=100.0)
def _flat_memory(subject: CollectorUnderTest) -> None:
    with subject.opened(subject.plan(subject.env(episode_length=1))) as collector:
        for _ in range(5):
            collector.collect(POLICY, 200)
        before = footprint.memory(footprint.tree())
        for _ in range(10):
            collector.collect(POLICY, 200)
        grown = footprint.memory(footprint.tree()) - before
    expect(grown <= _GROWTH, f"memory grew by {grown / 2**20:.0f} MiB over 10,000 episodes")
