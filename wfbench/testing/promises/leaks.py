"""Promises about what is left behind."""

from __future__ import annotations

from pathlib import Path

from wfbench.contract import WfbenchError
from wfbench.policies import RandomPolicy
from wfbench.testing import traces
from wfbench.testing.ground import ACTIONS, PATIENT, STEPS, Ground, close_in_time
from wfbench.testing.verdict import expect

from .catalogue import COLLECTOR

POLICY = RandomPolicy(ACTIONS)
CYCLES = 8
GROWTH = 16 << 20
"""Bytes that ten thousand episodes may add: the allocator's habits, not a leak."""


@COLLECTOR.promise()
def clean_close(ground: Ground) -> None:
    """Close leaves no process, no descriptor and no shared memory."""
    _cycle(ground)
    before = traces.descriptors()
    for _ in range(CYCLES):
        _cycle(ground)
    after = traces.descriptors()
    expect(after <= before, f"{CYCLES} cycles left {after - before} descriptors open")


def _cycle(ground: Ground) -> None:
    collector = ground.build()
    used: set[str] = set()
    try:
        collector.open(ground.plan())
        collector.collect(POLICY, STEPS)
        used = traces.segments(traces.tree())
    finally:
        close_in_time(collector, PATIENT.close, "after collect")
    _expect_gone(used, "close")


def _expect_gone(used: set[str], what: str) -> None:
    traces.wait_for(lambda: not traces.children(), 2.0)
    left = traces.children()
    expect(not left, f"processes that outlive {what}: {sorted(left)}")
    stay = sorted(path for path in used if Path(path).exists())
    expect(not stay, f"shared memory that outlives {what}: {', '.join(stay)}")


@COLLECTOR.promise()
def clean_failed_open(ground: Ground) -> None:
    """A failed open leaves no process, no descriptor and no shared memory."""
    plan = ground.faulty("ctor-raise").plan
    before = 0
    for number in range(3):
        collector = ground.build()
        try:
            collector.open(plan)
        except WfbenchError:
            pass
        finally:
            close_in_time(collector, PATIENT.close, "after a failed open")
        used = traces.segments(traces.tree())
        _expect_gone(used, "a failed open")
        if number == 0:
            before = traces.descriptors()
    after = traces.descriptors()
    expect(after <= before, f"two failed opens left {after - before} descriptors open")


@COLLECTOR.promise(limit=100.0)
def flat_memory(ground: Ground) -> None:
    """Ten thousand episodes take no more memory than a few."""
    collector = ground.build()
    try:
        collector.open(ground.plan(ground.env(episode_length=1)))
        for _ in range(5):
            collector.collect(POLICY, 200)
        before = traces.memory(traces.tree())
        for _ in range(10):
            collector.collect(POLICY, 200)
        grown = traces.memory(traces.tree()) - before
    finally:
        collector.close()
    expect(grown <= GROWTH, f"memory grew by {grown / 2**20:.0f} MiB over 10,000 episodes")
