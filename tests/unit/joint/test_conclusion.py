"""The sentences about runs whose returns were chosen by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wfbench.orders import all_orders, precedences, unit_pairs
from wfbench.search import conclusion
from wfbench.search.answer.records import Estimate, FollowingCost, PairEffect
from wfbench.search.conclusion import Findings, half_over_seeds
from wfbench.store.events import FREE, JOINT, NOT_FINITE, SPECIAL, WorkflowResult
from wfbench.store.sweeps import NORMAL, STRESS, Sweep

UNITS = ("defender", "enterprise", "op_server", "op_host", "user")
ORDERS = all_orders(5)
PAIRS = unit_pairs(5)
SIGNS = np.array([precedences(order) for order in ORDERS]) / 2


def swept(
    effects: Mapping[tuple[int, int], float] | None = None,
    *,
    choices: int = 10,
    right: int = 10,
    orders: Sequence[tuple[int, ...]] = ORDERS,
    mean: float = -20.0,
    spread: float = 0.0,
) -> Sweep:
    """Return a sweep in which orders differ by exactly these points per pair."""
    points = np.array([(effects or {}).get(pair, 0.0) for pair in PAIRS])
    returns = mean + (SIGNS @ points)[[ORDERS.index(order) for order in orders]]
    noise = spread * np.array([-1.0, 1.0, -1.0, 1.0])
    shape = (len(orders), 4)
    counts = np.full(shape, choices), np.full(shape, right)
    return Sweep(tuple(orders), returns[:, None] + noise, *counts)


def training(stage: str, order: tuple[int, ...] = (), **changed: Any) -> WorkflowResult:
    values: dict[str, Any] = {
        "workflow": 0,
        "order": order,
        "seed": 0,
        "inherited_from": None,
        "status": "budget",
        "reason": "episodes",
        "score": 0.0,
        "score_sd": 0.0,
        "score_episodes": 4,
        "score_source": "evaluation",
        "compliance": 1.0,
        "secondary_compliance": 1.0,
        "fixes": 0.0,
        "counted": 0.0,
        "wasted": 0.0,
        "compliant": True,
        "steps_to_compliance": None,
        "updates": 1,
        "env_steps": 100,
        "evaluation_steps": 0,
        "episodes": 1,
        "stage": stage,
    }
    return WorkflowResult(**values | changed)


def said(*trainings: tuple[WorkflowResult, dict[str, Sweep]]) -> tuple[str, ...]:
    return Findings(UNITS, 0.95, 7, trainings).sentences()


def twice(sweep: Sweep) -> list[tuple[WorkflowResult, dict[str, Sweep]]]:
    return [(training(JOINT), {NORMAL: sweep})] * 2


def test_nothing_is_said_before_a_joint_training_has_ended() -> None:
    assert said() == ()
    assert said((training(JOINT, reason=NOT_FINITE), {NORMAL: swept()})) == ()
    assert said((training(FREE), {NORMAL: swept()})) == ()


def test_one_training_is_a_first_answer() -> None:
    first, *_ = said((training(JOINT), {NORMAL: swept({(1, 4): -2.0}, spread=0.5)}))
    assert first.startswith("First answer, from one training: mean return -20.00 over all orders, ")
    assert first.endswith("best so far. Whether orders differ needs a second training.")


@pytest.mark.parametrize(
    ("effects", "sentence"),
    [
        ({(1, 4): 2.0}, "E before U: +2.0 ± 0.0 points; no other pair matters: all below 0.0."),
        ({(1, 4): -2.0}, "U before E: +2.0 ± 0.0 points; no other pair matters: all below 0.0."),
        (
            {(0, 1): 1.0, (1, 4): -4.0, (0, 2): 2.0, (2, 4): 3.0, (3, 4): 0.5},
            (
                "U before E: +4.0 ± 0.0 points; S before U: +3.0 ± 0.0 points; "
                "D before S: +2.0 ± 0.0 points; 2 more pairs matter less; "
                "no other pair matters: all below 0.0."
            ),
        ),
        (
            {(1, 4): -4.0, (0, 2): 2.0, (2, 4): 3.0},
            (
                "U before E: +4.0 ± 0.0 points; S before U: +3.0 ± 0.0 points; "
                "D before S: +2.0 ± 0.0 points; no other pair matters: all below 0.0."
            ),
        ),
    ],
)
def test_the_pairs_that_matter_are_named_the_strongest_first(
    effects: dict[tuple[int, int], float], sentence: str
) -> None:
    assert said(*twice(swept(effects)))[0].replace("below -0.0", "below 0.0") == sentence


def test_the_best_order_is_named_with_how_many_cannot_be_told_from_it() -> None:
    [_, some, *_] = said(*twice(swept({(1, 4): 2.0})))
    assert some.startswith("Best order: ")
    assert some.endswith(" at -19.00 (all orders -20.00); 59 more cannot be told from it.")
    every = {pair: 2.0 ** (place + 1) for place, pair in enumerate(PAIRS)}
    [_, alone, *_] = said(*twice(swept(every)))
    assert alone.startswith("Best order: D>E>S>H>U at ")
    assert alone.endswith("; no other comes near.")


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (10, "The order makes no difference here: mean return -20.00; "),
        (
            0,
            (
                "The order makes no difference here, because a good defender faces 0.00 choices "
                "per episode: mean return -20.00; "
            ),
        ),
    ],
)
def test_no_difference_comes_with_its_bound(choices: int, sentence: str) -> None:
    first, *_ = said(*twice(swept(choices=choices, right=choices)))
    assert first == f"{sentence}no order can be 0.00 points worse than the best."


def test_noise_that_hides_differences_is_said_to() -> None:
    one = swept(mean=-20.0)
    rng = np.random.default_rng(1)
    noisy = [
        Sweep(one.orders, one.env_return + rng.normal(0, 9, (120, 4)), one.choices, one.right)
        for _ in range(2)
    ]
    first, *_ = said(*((training(JOINT), {NORMAL: sweep}) for sweep in noisy))
    assert first.startswith("No difference between orders was found, but this run could not find")
    assert first.endswith("More seeds or episodes tell more.")


@pytest.mark.parametrize(
    ("choices", "right", "sentence"),
    [
        (20, 20, "120 of 120 orders are followed at 95% or more: 100.0% of 20.0 choices per"),
        (20, 18, "0 of 120 orders are followed at 95% or more: 90.0% of 20.0 choices per episode"),
        (0, 0, "Compliance is untested: no order has 50 choices on record (0.00 per episode)."),
        (2, 2, "Compliance is untested: no order has 50 choices on record (2.00 per episode)."),
    ],
)
def test_compliance_is_the_share_of_right_choices(choices: int, right: int, sentence: str) -> None:
    assert said(*twice(swept(choices=choices, right=right)))[1].startswith(sentence)


def test_policies_without_an_order_and_held_steps_have_sentences() -> None:
    held = swept(choices=20, right=10)
    free = (training(FREE), {NORMAL: swept(choices=20, right=20, mean=-15.0)})
    joint = [(training(JOINT), {NORMAL: swept(choices=20, right=20), STRESS: held})] * 2
    lines = said(*joint, free)
    assert "95% or more (120 even without being told an order): 100.0%" in lines[1]
    assert lines[2] == (
        "After 7 held steps 0 of 120 orders are followed: 50.0% of 20.0 choices per episode are "
        "right."
    )
    assert lines[3] == (
        "Following the best order costs 5.00 ± 0.00 points, for these policies; "
        "--free 2 tells more."
    )
    nothing = swept(choices=0, right=0)
    quiet = [(training(JOINT), {NORMAL: nothing, STRESS: nothing})] * 2
    assert said(*quiet)[2] == "After 7 held steps there are no choices."


@pytest.mark.parametrize(
    ("mean", "sentence"),
    [
        (-25.0, "Policies that follow the best order do better than free ones, by 5.00 ± 0.00"),
        (-20.0, "Following the best order costs nothing that could be measured (0.00 ± 0.00"),
    ],
)
def test_a_free_policy_may_do_no_better(mean: float, sentence: str) -> None:
    free = (training(FREE), {NORMAL: swept(mean=mean)})
    assert said(*twice(swept()), free)[-1].startswith(sentence)
    assert "for these policies" not in said(*twice(swept()), free, free)[-1]
    once = said((training(JOINT), {NORMAL: swept()}), free, free)[-1]
    assert "for these policies; --free 2 tells more" in once


def test_the_best_specialised_order_of_the_largest_budget_is_named() -> None:
    def special(order: tuple[int, ...], mean: float, steps: int, count: int) -> Any:
        sweep = swept(orders=[order], mean=mean, choices=count, right=count, spread=1.0)
        return training(SPECIAL, order, env_steps=steps), {NORMAL: sweep}

    worse = special(ORDERS[5], -12.0, 100, 20)
    best = special(ORDERS[0], -11.0, 100, 20)
    cheap = special(ORDERS[9], -1.0, 99, 20)
    line = said(*twice(swept()), worse, best, cheap)[-1]
    assert line == (
        "Best of 2 specialised orders: D>E>S>H>U at -11.00 ± 1.84 over the episodes of one "
        "training (100.0% of its choices right)."
    )
    alone = said(*twice(swept()), special(ORDERS[0], -11.0, 100, 12))[-1]
    assert alone.startswith("Best of 1 specialised order: D>E>S>H>U at -11.00")
    assert alone.endswith("(untested: 48 choices).")
    result, sweeps = special(ORDERS[0], -11.0, 100, 12)
    fifty = np.array([[12, 12, 12, 14]])
    enough = replace(sweeps[NORMAL], choices=fifty, right=fifty)
    tested = said(*twice(swept()), (result, {NORMAL: enough}))[-1]
    assert tested.endswith("(100.0% of its choices right).")


@pytest.mark.parametrize(("seeds", "half"), [(1, math.nan), (2, 12.706), (4, 1.837)])
def test_the_interval_over_seeds_is_students(seeds: int, half: float) -> None:
    sweep = swept(spread=1.0)
    part = replace(sweep, env_return=sweep.env_return[:, :seeds])
    assert half_over_seeds(part) == pytest.approx(half, rel=1e-3, nan_ok=True)


def test_weak_pairs_are_bounded_by_effect_and_interval_and_unknown_ones_left_out() -> None:
    effects = [
        PairEffect(0, 1, 0.5, 0.26, significant=True),
        PairEffect(0, 2, -0.41, 0.32, significant=False),
        PairEffect(0, 3, 0.1, 0.2, significant=False),
        PairEffect(1, 2, None, None, significant=False),
        PairEffect(1, 3, 9.0, None, significant=False),
    ]
    assert conclusion._effects(effects, UNITS) == (
        "D before E: +0.5 ± 0.3 points; no other pair matters: all below 0.8"
    )
    assert conclusion._effects(effects[:1], UNITS) == "D before E: +0.5 ± 0.3 points"
    assert conclusion._effects(effects[1:], UNITS).startswith("Orders differ, but no single pair")


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (0.5, 1.5, "Following the best order costs 1.00 ± 0.50 points."),
        (0.0, 2.0, "Following the best order costs nothing that could be measured (1.00 ± 1.00"),
        (-1.5, -0.5, "Policies that follow the best order do better than free ones, by 1.00 ± 0.5"),
        (-2.0, 0.0, "Following the best order costs nothing that could be measured (-1.00 ± 1.00"),
    ],
)
def test_a_cost_counts_if_its_interval_is_beyond_0(low: float, high: float, sentence: str) -> None:
    value = Estimate((low + high) / 2, low, high)
    told = conclusion._about_cost(FollowingCost(-9.0, value, value, "orders"))
    assert told.startswith(sentence)


@pytest.mark.parametrize("few", [False, True])
def test_what_is_negligible_makes_no_difference(*, few: bool) -> None:
    answer = Findings(UNITS, 0.95, 7, tuple(twice(swept()))).answer
    assert answer is not None
    for more, sentence in ((0.0, "The order makes no difference here"), (0.01, "No difference")):
        most = conclusion._NEGLIGIBLE + more
        found = replace(answer, largest_difference=most, few_choices=few)
        assert conclusion._no_difference(found).startswith(sentence)
