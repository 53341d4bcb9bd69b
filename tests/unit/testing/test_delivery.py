"""What the promises about delivery say of collectors that break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulated_collector import Good, Options

from wfbench.contract import Counters, Policy, Rollout


class Changed(Good):
    """Delivers what the test makes of a rollout."""

    def change(self, rollout: Rollout, number: int) -> Rollout:
        del number
        return rollout

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        self.delivered = getattr(self, "delivered", 0) + 1
        return self.change(super().deliver(policy, steps), self.delivered)


def changing(change: Callable[[Rollout, int], Rollout]) -> type[Good]:
    return type("Broken", (Changed,), {"change": lambda _, *given: change(*given)})


def spoilt(rollout: Rollout, name: str, row: int = 0) -> Rollout:
    array = getattr(rollout, name).copy()
    array[row] = ~array[row] if array.dtype == bool else array[row] + 1
    return replace(rollout, **{name: array})


def test_the_rollout_that_differs_is_numbered(judge: Any) -> None:
    for number in (1, 2):
        broken = changing(lambda r, n, which=number: spoilt(r, "rewards", 3) if n == which else r)
        found = judge(broken, "same-transitions")
        said = f"rollout {number - 1} is not what sequential delivers: rewards of env 0 at step "
        assert found.kept is False
        assert found.detail.startswith(f"{said}{12 * (number - 1) + 3} is ")


@pytest.mark.parametrize(
    ("slug", "change", "detail"),
    [
        (
            "same-transitions",
            lambda r, n: spoilt(r, "actions", 11) if n == 2 else r,
            "a stretch is not what its environment gives there: actions of env 0 at step 23 is ",
        ),
        (
            "same-transitions",
            lambda r, _: replace(r, final_obs=r.final_obs[1:]),
            "the number of final_obs is 9, not 10",
        ),
        (
            "exact-number",
            lambda r, _: replace(r, final_obs=r.final_obs[1:]),
            "the number of final_obs is 9, not 10",
        ),
        (
            "exact-number",
            lambda r, _: replace(r, values=r.values[:, 1:]),
            "the shape of values is (1, 4), not (1, 5)",
        ),
        (
            "exact-number",
            lambda r, _: replace(r, actions=r.actions[:, 1:]),
            "the number of transitions is 4, not 5",
        ),
        ("own-seeds", lambda r, _: replace(r, obs=r.obs * 0), "16 environments start with only 1"),
    ],
)
def test_an_asynchronous_collector_is_held_to_what_it_promises(
    slug: str, change: Any, detail: str, judge: Any
) -> None:
    assert judge(Good, slug, "workers").kept is True
    found = judge(changing(change), slug, "workers")
    assert found.kept is False
    assert detail in found.detail


@pytest.mark.parametrize(
    ("slug", "change", "detail"),
    [
        (
            "exact-number",
            lambda r, _: replace(r, actions=r.actions.T),
            "1 steps of 5 envs gave arrays of 5 x 1",
        ),
        (
            "exact-number",
            lambda r, _: replace(r, terminated=r.terminated & False, truncated=r.truncated & False),
            "the number of ended episodes is 0, not 10",
        ),
        (
            "episodes-of-one-step",
            lambda r, _: replace(r, terminated=r.terminated & False, truncated=r.truncated & False),
            "a row is not the end of its one-step episode",
        ),
        (
            "episodes-of-one-step",
            lambda r, _: replace(r, final_obs=r.final_obs[1:]),
            "the number of final_obs is 59, not 60",
        ),
        (
            "allowed-infinities",
            lambda r, _: replace(r, obs=np.nan_to_num(r.obs)),
            "an observation is not the infinity it was",
        ),
        (
            "disjoint-seeds",
            lambda r, _: replace(r, obs=r.obs * 0),
            "two runs with different seeds begin with the same episode",
        ),
        (
            "same-hash-again",
            lambda r, _: replace(r, rewards=np.random.default_rng().random(r.rewards.shape, "f4")),
            "two runs of one plan gave the hashes ",
        ),
        (
            "new-policy",
            lambda r, _: replace(r, policy_version=r.policy_version * 0),
            "the new policy never acted",
        ),
        (
            "new-policy",
            lambda r, _: replace(r, policy_version=np.array([2, 2, 2, 2, 1])),
            "policy_version is [2, 2, 2, 2, 1], not all 2",
        ),
        (
            "new-policy",
            lambda r, _: spoilt(r, "actions", 11),
            "column 0 says that the new policy acted, but these are not its actions",
        ),
    ],
)
def test_a_change_of_what_is_delivered_is_noticed(
    slug: str, change: Any, detail: str, judge: Any
) -> None:
    found = judge(changing(change), slug)
    assert found.kept is False
    assert found.detail.startswith(detail)


@pytest.mark.parametrize(
    ("first", "kept", "asked"), [(1, True, 2), (21, True, 22), (22, False, 22)]
)
def test_an_asynchronous_collector_may_take_a_new_policy_late(
    first: int, kept: object, asked: int, judge: Any
) -> None:
    class Lazy(Good):
        """Acts with a new policy from the collect of that number on."""

        def deliver(self, policy: Policy, steps: int) -> Rollout:
            self.asked_for = getattr(self, "asked_for", -1) + 1
            self.old = getattr(self, "old", policy)
            return super().deliver(policy if self.asked_for >= first else self.old, steps)

    Lazy.log.clear()
    found = judge(Lazy, "new-policy", "workers")
    assert found.kept is kept
    assert sum(line.startswith("collect") for line in Lazy.log) == asked
    if not kept:
        assert found.detail == "the new policy never acted"


@pytest.mark.parametrize("name", ["obs", "rewards", "final_obs", "next_obs"])
def test_each_array_of_a_rollout_must_stay(name: str, judge: Any) -> None:
    class Reuses(Good):
        def deliver(self, policy: Policy, steps: int) -> Rollout:
            rollout = super().deliver(policy, steps)
            if kept := vars(self).get("kept"):
                getattr(kept, name)[...] = 7
            self.kept = rollout
            return rollout

    found = judge(Reuses, "rollouts-stay")
    assert found.detail == f"{name} of a rollout changed after it was delivered"
    assert judge(Good, "rollouts-stay").kept is True


@pytest.mark.parametrize(
    ("counters", "detail"),
    [
        (Counters(wall=0.5, env=0.5, transport=0.0, inference=0.0, idle=0.0), ""),
        (Counters(wall=0.5, env=0.125, transport=0.125, inference=0.125, idle=0.125), ""),
        (Counters(wall=0.5, env=0.504, transport=0.0, inference=0.0, idle=0.0), ""),
        (Counters(wall=0.5, env=0.496, transport=0.0, inference=0.0, idle=0.0), ""),
        (Counters(0.5, 0.506, 0.0, 0.0, 0.0), "the phases {'env': 0.506, "),
        (Counters(0.5, 0.494, 0.0, 0.0, 0.0), "the phases {'env': 0.494, "),
        (Counters(0.5, 1.0, 0.0, 0.0, -0.5), "a phase is negative: {'env': 1.0, "),
        (Counters(0.0, 0.0, 0.0, 0.0, 0.0), "the wall time is given as 0.000000 s, but collect"),
        (Counters(0.75, 0.75, 0.0, 0.0, 0.0), "the wall time is given as 0.750000 s, but collect"),
    ],
)
def test_the_phases_are_added_up(counters: Counters, detail: str, judge: Any, clock: Any) -> None:
    class Timed(Good):
        def deliver(self, policy: Policy, steps: int) -> Rollout:
            clock.sleep(0.5)
            return replace(super().deliver(policy, steps), counters=counters)

    found = judge(Timed, "phases")
    assert (found.kept, found.detail[: len(detail)]) == (not detail, detail)


class Layouts(Good):
    """Loses rewards where it has two workers."""

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        rollout = super().deliver(policy, steps)
        return spoilt(rollout, "rewards") if self.options["workers"] == 2 else rollout


def test_a_layout_that_changes_something_is_named(judge: Any) -> None:
    found = judge(Layouts, "layouts", options=Options)
    said = "with workers=2 the transitions of synthetic are not sequential's: rewards of env 0 at "
    assert found.detail.startswith(said)
    found = judge(Layouts, "layouts", "workers", options=Options)
    assert found.detail.startswith("a stretch is not what its environment gives there: rewards")
    assert judge(Layouts, "start-methods", options=Options).kept is True


def test_without_options_a_layout_has_nothing_to_change(judge: Any) -> None:
    found = judge(Good, "layouts")
    assert (found.kept, found.detail) == (None, "it has no option workers or threads")


def test_a_collector_without_workers_is_also_given_many_batched_environments(judge: Any) -> None:
    asked = {}
    for declared in (("deterministic",), ("deterministic", "workers")):
        Good.log.clear()
        assert judge(Good, "many-environments", *declared).kept is True
        asked[declared] = [line.split(",")[0] for line in Good.log if line.startswith("open")]
    assert list(asked.values()) == [
        ["open 257 x synthetic (scalar)", "open 257 x synthetic-batch (batched)"],
        ["open 257 x synthetic (scalar)"],
    ]
