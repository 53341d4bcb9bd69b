"""What a kept joint run and sweeps of chosen numbers tell about orders, to the digit.

`pytest --update-golden` writes the file anew after an intended change; look at the difference.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_sweeps import concentrated, effects_of, part_of, simulate

from wfbench.api.order_results import answer_data, specialised_data
from wfbench.report.sections.joint import orders_data
from wfbench.search.answer import Answer, find_answer
from wfbench.search.history import read_search
from wfbench.store.sweeps import Sweep, read_sweeps

KEPT = Path(__file__).parents[2] / "data" / "joint-run"


def test_the_answer_of_a_kept_run_is_what_it_was(golden: Callable[[str, str], None]) -> None:
    search = read_search(KEPT)
    findings, units = search.findings, search.units
    assert findings is not None
    sweeps = [read_sweeps(KEPT / "sweeps" / f"00{n}.npz") for n in range(4)]
    told = {
        "all trainings": answer_data(findings.answer, units),
        "one training": answer_data(find_answer([sweeps[0]["normal"]]), units),
        "without an order": answer_data(find_answer([sweeps[2]["normal"]]), units),
        "one policy by order": orders_data(sweeps[0], units, 2),
        "specialised": specialised_data(findings),
        "sentences": findings.sentences(),
        "steps": [search.env_steps, search.elapsed, search.rate],
    }
    golden("answer.json", json.dumps(told, indent=1, default=str))


def chosen(rng: np.random.Generator, sweep: Sweep, right: float, episodes: int) -> Sweep:
    """Return the sweep with up to three choices in each of its first episodes."""
    choices = rng.integers(0, 4, sweep.env_return.shape)
    choices[:, episodes:] = 0
    return replace(sweep, choices=choices, right=rng.binomial(choices, right))


def in_short(answer: Answer) -> dict[str, Any]:
    """Return all but the orders, and of these the first few and how many may be best."""
    told = asdict(answer)
    told |= {"best": len(told["best"]), "orders": told["orders"][:3]}
    told["choices"] |= {
        name: len(told["choices"][name]) for name in ("followed", "untested", "not_followed")
    }
    told["effects"] = [[one["effect"], one["half"]] for one in told["effects"]]
    return told


def answers() -> dict[str, Answer]:
    """Return the answers to sweeps of many kinds."""
    rng = np.random.default_rng(20)
    few = [*range(0, 120, 17)]
    many = simulate(rng, 32, effects_of(1.0), episodes=2)
    three = simulate(rng, 3, effects_of(2.0), episodes=10)
    odd = simulate(rng, 2, effects_of(1.0), within=1.0, episodes=6, extra=rng.normal(0, 8, 120))
    shared = concentrated(rng, 4, effects_of(2.0), episodes=8)
    return {
        "one training": find_answer(simulate(rng, 1, effects_of(5.0), episodes=12)),
        "one training of many episodes": find_answer(
            [part_of(simulate(rng, 1, effects_of(5.0), episodes=40)[0], few)]
        ),
        "two trainings of one episode": find_answer(
            simulate(rng, 2, effects_of(4.0), within=0.5, episodes=1)
        ),
        "three trainings and free ones": find_answer(
            [chosen(rng, sweep, 0.97, 10) for sweep in three],
            free=simulate(rng, 2, effects_of(0.0), episodes=10, extra=3.0),
        ),
        "three trainings and a free one": find_answer(
            [chosen(rng, sweep, 0.8, 2) for sweep in three],
            free=simulate(rng, 1, effects_of(0.0), episodes=4, extra=3.0),
            level=0.9,
            threshold=0.8,
        ),
        "beyond pairs": find_answer(odd, free=odd[:1]),
        "mainly one pair": find_answer(shared),
        "some orders": find_answer([part_of(sweep, few) for sweep in shared]),
        "two orders": find_answer([part_of(sweep, [3, 60]) for sweep in shared]),
        "one order": find_answer([part_of(sweep, [3]) for sweep in shared]),
        "many trainings": find_answer([part_of(sweep, few) for sweep in many]),
    }


@pytest.fixture(scope="module")
def told() -> dict[str, Answer]:
    return answers()


def test_answers_to_chosen_sweeps_are_what_they_were(
    told: dict[str, Answer], golden: Callable[[str, str], None]
) -> None:
    shown = {name: in_short(answer) for name, answer in told.items()}
    lines = [f"{name}: {key} {part}" for name, one in shown.items() for key, part in one.items()]
    golden("answers.txt", "\n".join(lines))


def test_chosen_sweeps_are_of_every_kind(told: dict[str, Answer]) -> None:
    assert {one.verdict for one in told.values()} == {"difference", "no-difference", "provisional"}
    assert {one.beyond_pairs for one in told.values()} == {False, True}
    assert {one.few_choices for one in told.values()} == {False, True}
    assert {one.cost.about for one in told.values() if one.cost} == {"orders", "this policy"}
    statuses = {order.status for one in told.values() for order in one.orders}
    assert statuses == {"followed", "untested", "not followed"}
