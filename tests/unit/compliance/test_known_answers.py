"""Policies whose compliance on CAGE-2 is known: an oracle, its opposite, and chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, Order, Rollout, WorkflowModel
from wfbench.orders import all_orders, parse_order
from wfbench.orders.compliance import DEFINITIONS, Shaper, chance_level, find_definition
from wfbench.policies import RandomPolicy
from wfbench_cage2.workflow import WORKFLOW
from wfbench_collectors.vector import VectorCollector

REMOVE, RESTORE, SLEEP = 15, 132, 0
ORDERS = ("D>E>S>H>U", "U>S>E>H>D", "E>U>H>D>S")
EFFECTIVE = [one for one in DEFINITIONS if one.startswith(("effective", "choices"))]
"""Definitions that count only fixes which end something."""
Play = Callable[..., Rollout]


def hosts_of(mask: int, *, footholds: bool) -> list[int]:
    ignored = () if footholds else WORKFLOW.footholds
    return [h for h in range(len(WORKFLOW.hosts)) if mask >> h & 1 and h not in ignored]


class Expert:
    """Sees the true state; follows the order, or breaks it wherever it can."""

    def __init__(self, definition: str, order: Order, *, follow: bool) -> None:
        self.footholds = not find_definition(definition).ignore_footholds
        self.targeted = definition.startswith("targeted")
        self.order = order
        self.follow = follow

    def __call__(
        self, step: int, masks: NDArray[np.uint32], draws: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        return np.array(
            [
                self.by_turn(step) if self.targeted else self.by_state(int(mask), int(draw))
                for mask, draw in zip(masks, draws, strict=True)
            ],
            dtype=np.int64,
        )

    def by_turn(self, step: int) -> int:
        unit = self.order[min(step, 4)] if self.follow else self.order[-1]
        return RESTORE + WORKFLOW.host_unit.index(unit)

    def by_state(self, mask: int, draw: int) -> int:
        hit = hosts_of(mask, footholds=self.footholds)
        if not hit or draw % 8:  # slow enough that there is something to choose from
            return SLEEP
        draw //= 8
        places = [self.order.index(WORKFLOW.host_unit[host]) for host in hit]
        first = min(places)
        wanted = [
            host
            for host, place in zip(hit, places, strict=True)
            if (place == first) == self.follow and (self.follow or host not in WORKFLOW.footholds)
        ]
        return RESTORE + wanted[draw % len(wanted)] if wanted else SLEEP


@pytest.mark.parametrize(("red", "text"), list(product(("bline", "meander"), ORDERS)))
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_an_oracle_scores_1_and_its_opposite_0(
    play: Play, definition: str, red: str, text: str
) -> None:
    order = parse_order(text)
    for follow, expected in ((True, 1.0), (False, 0.0)):
        rollout = play(Expert(definition, order, follow=follow), red=red)
        episodes = Shaper(WORKFLOW, order, definition=definition).shape(rollout).episodes
        judged = episodes.counted > 0
        assert judged.sum() >= 5
        assert (episodes.compliance[judged] == expected).all()
        assert set(episodes.compliance[~judged]) <= {0.5, 1.0}


def pooled(rollout: Rollout, definition: str, order: Order) -> tuple[float, float]:
    """Compliance over all counted fixes of a rollout, and its standard error by episodes."""
    episodes = Shaper(WORKFLOW, order, definition=definition).shape(rollout).episodes
    compliant = episodes.compliance * episodes.counted * (episodes.counted > 0)
    share = float(compliant.sum() / episodes.counted.sum())
    spread = np.sqrt(((compliant - share * episodes.counted) ** 2).sum())
    return share, spread / episodes.counted.sum()


@pytest.mark.parametrize("definition", [one for one in DEFINITIONS if one not in EFFECTIVE])
@pytest.mark.parametrize("text", ORDERS)
def test_a_random_policy_scores_the_chance_level(definition: str, text: str) -> None:
    order = parse_order(text)
    cage2 = EnvRef("cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch")
    with VectorCollector() as collector:
        collector.open(make_plan(cage2, 1000, seed=11))
        rollout = collector.collect(RandomPolicy(145), 100)
    share, error = pooled(rollout, definition, order)
    chance = chance_level(definition, WORKFLOW, order, rollout)
    assert chance is not None
    assert 0.05 < chance < 0.95
    assert abs(share - chance) < 4 * error < 0.04


@pytest.mark.parametrize("definition", EFFECTIVE)
@pytest.mark.parametrize("text", ORDERS)
def test_random_restores_score_the_chance_level(play: Play, definition: str, text: str) -> None:
    """A restore ends every session of its host, which is what the count assumes."""
    order = parse_order(text)
    hosts = np.array([h for h in range(13) if h not in WORKFLOW.footholds])

    def restore(_step: int, _masks: object, draws: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(draws % 4 == 0, RESTORE + hosts[draws // 4 % 12], SLEEP)

    rollout = play(restore, red="meander", n_envs=1000)
    share, error = pooled(rollout, definition, order)
    chance = chance_level(definition, WORKFLOW, order, rollout)
    assert chance is not None
    assert 0.05 < chance < 0.95
    assert abs(share - chance) < 4 * error < 0.06


@pytest.mark.parametrize("red", ["bline", "meander"])
def test_a_policy_that_is_blind_to_the_order_gets_half_its_choices_right(
    play: Play, red: str
) -> None:
    """Ending every intrusion at random follows no order; only `effective@2` can tell."""

    def restore(_step: int, masks: NDArray[np.uint32], draws: NDArray[np.int64]) -> Any:
        actions = []
        for mask, draw in zip(masks, draws, strict=True):
            hosts = hosts_of(int(mask), footholds=False)
            acts = bool(hosts) and draw % 4 == 0
            actions.append(RESTORE + hosts[draw // 4 % len(hosts)] if acts else SLEEP)
        return np.array(actions)

    rollout = play(restore, red=red, n_envs=200)
    shares = {
        name: [pooled(rollout, name, order)[0] for order in all_orders()]
        for name in ("effective@1", "effective@2")
    }
    assert np.median(shares["effective@1"]) > 0.7
    assert np.median(shares["effective@2"]) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("definition", ["effective@1", "effective@2"])
def test_one_fix_and_then_sleep_is_compliant_and_no_defence(play: Play, definition: str) -> None:
    """Compliance says whether fixes follow the order, never whether there are enough of them."""
    order = parse_order("D>E>S>H>U")
    fixed = np.zeros(64, dtype=np.bool_)

    def lazy(_step: int, masks: NDArray[np.uint32], _draws: object) -> NDArray[np.int64]:
        actions = np.full(len(masks), SLEEP)
        for env, mask in enumerate(masks):
            hosts = hosts_of(int(mask), footholds=False)
            if hosts and not fixed[env]:
                actions[env] = RESTORE + hosts[0]
                fixed[env] = True
        return actions

    episodes = Shaper(WORKFLOW, order, definition=definition).shape(play(lazy)).episodes
    assert episodes.compliance.tolist() == [1.0] * 64
    assert episodes.env_return.mean() < -500


def test_chance_counted_by_hand(tiny: WorkflowModel, make_rollout: Play) -> None:
    """Hosts a0, b0, c0 (foothold), c1; one fix each. First b0 and c1, then only c1 compromised."""
    rollout = make_rollout([[2], [4]], [[2 | 8], [8]], ended_session=True, ends=[[False], [True]])
    levels = {
        name: chance_level(name, tiny, (0, 1, 2), rollout)
        for name in ("strict", "effective@1", "effective@2", "precedence", "targeted")
    }
    assert levels == {
        "strict": (1 + 2) / 8,
        "effective@1": (1 + 1) / 3,
        "effective@2": 1 / 2,
        "precedence": (2 + 4) / 8,
        "targeted": (1 + 1) / 8,
    }


def test_chance_remembers_targets_until_the_episode_of_their_column_ends(
    tiny: WorkflowModel, make_rollout: Play
) -> None:
    """Of four fixes one is compliant at first, two after a0 was fixed."""
    ends = np.zeros((4, 2), np.bool_)
    ends[1, 0] = True
    rollout = make_rollout([[1, 0], [2, 0], [0, 0], [1, 0]], 0, ended_session=False, ends=ends)
    for ended in (rollout, replace(rollout, terminated=ends, truncated=rollout.terminated)):
        level = chance_level("targeted", tiny, (0, 1, 2), ended)
        assert level == ((1 + 2 + 1 + 1) + 4 * 1) / 32


def test_there_is_no_chance_level_where_nothing_counts(
    tiny: WorkflowModel, make_rollout: Play
) -> None:
    rollout = make_rollout([[1]], 0, ended_session=False, ends=True)
    assert chance_level("effective", tiny, (0, 1, 2), rollout) is None
