"""Workers' parents that are started before a collector is opened."""

from __future__ import annotations

import psutil
import pytest

from wfbench.collecting.seeding import make_plan
from wfbench.contract import CollectError, EnvRef
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.shm import ShmCollector

PLAN = make_plan(
    EnvRef(
        "synthetic", "wfbench_synthetic.env:SyntheticEnv", "wfbench_synthetic.batch:SyntheticBatch"
    ),
    4,
    0,
)


def children():
    return {child.pid for child in psutil.Process().children()}


@pytest.mark.parametrize("kind", [ShmCollector, PipeCollector, AsyncCollector])
def test_the_first_collector_takes_over_what_was_started_early(kind):
    before = children()
    with kind().prepared(PLAN):
        [early] = children() - before
        with kind() as collector:
            collector.open(PLAN)
            assert children() - before == {early}
        assert children() == before
        with kind() as collector:
            collector.open(PLAN)
            assert early not in children()
    assert children() == before


def test_what_nobody_took_over_ends_with_the_block():
    before = children()
    with ShmCollector().prepared(PLAN), ShmCollector().prepared(PLAN):
        assert len(children() - before) == 1
    assert children() == before


def test_a_fork_is_left_until_it_is_needed():
    before = children()
    with ShmCollector(start_method="fork").prepared(PLAN):
        assert children() == before


def test_the_death_of_what_was_started_early_is_told_when_a_collector_opens():
    before = children()
    with ShmCollector().prepared(PLAN):
        [early] = children() - before
        psutil.Process(early).kill()
        with pytest.raises(CollectError, match="the process that starts workers ended with -9"):
            ShmCollector().open(PLAN)
    assert children() == before
