"""Collectors that stay open between uses, and what ends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from wfbench.collecting.keeping import KeptCollector, keep_open
from wfbench.contract import CollectError, Plan, UsageError
from wfbench.policies import RandomPolicy
from wfbench.testing.harness import footprint
from wfbench_collectors.shm import ShmCollector

POLICY = RandomPolicy(4)


@pytest.fixture
def kept() -> Callable[[str], KeptCollector]:
    """Collectors with two worker processes."""
    return lambda key: KeptCollector(lambda: ShmCollector(workers=2), key)


def other_seeds(plan: Plan) -> Plan:
    return replace(plan, env_seeds=tuple(seed + 1 for seed in plan.env_seeds))


def collected(collector: KeptCollector, plan: Plan) -> tuple[str, set[int]]:
    with collector:
        collector.open(plan)
        return collector.collect(POLICY, 9).transition_hash(), footprint.children()


def test_the_next_one_takes_over_and_delivers_the_same(kept, plan_of) -> None:
    plans = [plan_of(), other_seeds(plan_of()), plan_of(obs_size=3)]
    alone = [collected(kept("a"), plan) for plan in plans]
    assert not footprint.children()
    with keep_open():
        reused = [collected(kept("a"), plan) for plan in plans]
    assert [found for found, _ in reused] == [found for found, _ in alone]
    assert len({frozenset(processes) for _, processes in reused}) == 1
    assert len({frozenset(processes) for _, processes in alone}) == len(plans)
    assert not footprint.children()


def test_other_collectors_and_numbers_have_their_own(kept, plan_of) -> None:
    with keep_open(), keep_open():
        one = collected(kept("a"), plan_of())[1]
        both = collected(kept("b"), plan_of())[1]
        three = collected(kept("a"), plan_of(n_envs=3))[1]
        assert one < both < three
        with kept("a") as first, kept("a") as second:
            first.open(plan_of())
            second.open(plan_of())
            assert three < footprint.children()
        assert len(footprint.children()) == len(three)


def test_one_that_failed_is_not_used_again(kept, plan_of) -> None:
    with keep_open():
        with kept("a") as failing:
            failing.open(plan_of(fault="raise@2", fault_env=1, env_index=0))
            with pytest.raises(CollectError, match="env 1"):
                failing.collect(POLICY, 9)
        assert not footprint.children()
        with pytest.raises(UsageError, match="is not open"):
            failing.collect(POLICY, 1)
        collected(kept("a"), plan_of())
        with kept("a") as refused, pytest.raises(CollectError, match="env 1"):
            refused.open(plan_of(fault="ctor-raise", fault_env=1, env_index=0))
        assert not footprint.children()


def test_an_error_closes_what_is_kept(kept, plan_of) -> None:
    def interrupted() -> None:
        with keep_open():
            collected(kept("a"), plan_of())
            assert footprint.children()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not footprint.children()
