from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from wfbench.benchmarks.compare.model import Criteria
from wfbench.benchmarks.compare.sessions import Side, compare_sessions
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import EnvRef, NotComparableError, UsageError

ENV = EnvRef("made", "made:Env", None, {"size": 3})
PHASES = {"env": 1.0, "transport": 0.0, "inference": 0.0, "idle": 0.0}
MEASURED = Measurement(
    *(0.5, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, PHASES, 0, 0, 0, 0, 0.0, 0, (), "h", False)
)
HERE = {"cpu": "quick", "usable_cores": 2, "cores": 2, "packages": {"numpy": "2.0"}}
THERE = {**HERE, "cpu": "slow", "packages": {"numpy": "2.1"}}


def case(label: str, **changed: Any) -> Case:
    plain = Case(label, "made:C", {}, ENV, 4, "random", deterministic=True)
    return dataclasses.replace(plain, **changed)


def side(
    name: str,
    rates: dict[str, float],
    *,
    seed: int = 1,
    machine: dict[str, Any] | None = HERE,
    rounds: int = 6,
    noise: float = 0.01,
    cases: list[Case] | None = None,
    settings: Settings | None = None,
    **measured: Any,
) -> Side:
    """A session whose rounds are all slowed down alike by whatever else the machine does."""
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(rounds):
        weather = np.exp(rng.normal(0.0, 0.3))
        for index, rate in enumerate(rates.values()):
            value = rate * weather * np.exp(rng.normal(0.0, noise))
            found = dataclasses.replace(MEASURED, wall=1000 / value, **measured)
            samples.append(Sample(index, number, len(samples), number, measurement=found))
    session = Session(
        tuple(cases or [case(label) for label in rates]),
        settings or Settings(rounds=rounds),
        tuple(samples),
    )
    return Side(name, session, machine)


def verdicts(old: Side, new: Side, **options: Any) -> dict[str, Verdict]:
    found = compare_sessions(old, new, **options)
    return {cell.name.partition(",")[0]: cell.verdict for cell in found.cells}


OLD = {"base": 100.0, "same": 300.0, "slower": 500.0, "faster": 700.0}
NEW = {"base": 100.0, "same": 300.0, "slower": 350.0, "faster": 910.0}


def test_each_case_is_judged_by_its_multiple_of_the_reference():
    assert verdicts(side("a", OLD), side("b", NEW, seed=2)) == {
        "same": Verdict.NO_CHANGE,
        "slower": Verdict.REGRESSED,
        "faster": Verdict.IMPROVED,
    }


def test_a_slower_machine_is_not_a_regression():
    crawling = {label: rate / 3 for label, rate in OLD.items()}
    found = compare_sessions(side("a", OLD), side("b", crawling, seed=2, machine=THERE))
    assert {cell.verdict for cell in found.cells} == {Verdict.NO_CHANGE}
    assert all(cell.metric == "x base" for cell in found.cells)
    assert found.basis.endswith("as a multiple of base in the same round, new / old")
    assert any("cpu quick / slow" in note and "numpy 2.0 / 2.1" in note for note in found.notes)


def test_absolute_figures_of_different_machines_are_refused():
    with pytest.raises(NotComparableError, match="different machines"):
        compare_sessions(side("a", OLD), side("b", OLD, machine=THERE), basis="rate")
    lone = {"base": 100.0}
    with pytest.raises(NotComparableError, match="a ratio needs two cases"):
        compare_sessions(side("a", lone), side("b", lone, machine=None))


def test_a_lone_case_is_compared_as_it_is_on_the_same_machine():
    old, new = side("a", {"base": 100.0}), side("b", {"base": 30.0}, seed=2)
    assert verdicts(old, new) == {"base": Verdict.REGRESSED}
    found = compare_sessions(old, new)
    [cell] = found.cells
    assert (cell.metric, cell.samples) == ("transitions/s", (6, 6))
    assert found.basis == "transitions/s, new / old, same machine"


def test_absolute_figures_of_a_busy_machine_prove_nothing():
    old = side("a", {"base": 100.0})
    new = side("b", {"base": 30.0}, seed=2, foreign_cpu=50.0)
    [cell] = compare_sessions(old, new).cells
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert cell.reason == "regressed, but the machine was busy with something else"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"settings": Settings(rounds=6, steps=7)}, "steps per collect 50 / 7"),
        ({"cases": [case(x, policy="network") for x in OLD]}, "policy random / network"),
        ({"cases": [case(x, n_envs=9) for x in OLD]}, "n_envs 4 / 9"),
        (
            {"cases": [case(x, env=dataclasses.replace(ENV, name="other")) for x in OLD]},
            "env made / other",
        ),
        (
            {"cases": [case(x, env=dataclasses.replace(ENV, options={"size": 8})) for x in OLD]},
            "env option size 3 / 8",
        ),
        ({"settings": Settings(rounds=6, smoke=True)}, "smoke run"),
    ],
)
def test_different_work_is_never_divided_and_named(changed, named):
    with pytest.raises(NotComparableError, match=named):
        compare_sessions(side("a", OLD), side("b", OLD, **changed))


def test_a_case_that_is_not_the_same_is_not_comparable_and_the_others_are():
    cases = [case(label) for label in OLD]
    cases[1] = case("same", options={"workers": 2})
    found = compare_sessions(side("a", OLD), side("b", OLD, seed=2, cases=cases))
    odd, *others = found.cells
    assert (odd.verdict, odd.reason) == (Verdict.NOT_COMPARABLE, "option workers absent / 2")
    assert odd.p is None
    assert {cell.verdict for cell in others} == {Verdict.NO_CHANGE}


def test_other_transitions_from_the_same_seeds_are_not_comparable():
    found = compare_sessions(side("a", OLD), side("b", OLD, seed=2, transition_hash="other"))
    assert {cell.verdict for cell in found.cells} == {Verdict.NOT_COMPARABLE}
    assert "the environment has changed" in found.cells[0].reason


def test_failed_samples_are_left_out_and_told():
    new = side("b", OLD, seed=2)
    samples = [
        Sample(s.case, s.round, s.position, s.seed, failure="it hung") if s.case == 2 else s
        for s in new.session.samples
    ]
    new = dataclasses.replace(new, session=dataclasses.replace(new.session, samples=tuple(samples)))
    found = compare_sessions(side("a", OLD), new)
    [odd] = [cell for cell in found.cells if cell.verdict is Verdict.NOT_COMPARABLE]
    assert odd.reason == "no clean sample in new: it hung"
    assert "6 samples of new failed or are marked, and are left out" in found.notes


def test_what_only_one_side_has_is_told():
    found = compare_sessions(
        side("a", {"base": 1.0, "x": 2.0, "y": 3.0}), side("b", {"base": 1.0, "x": 2.0, "z": 3.0})
    )
    assert [cell.name for cell in found.cells] == ["x, 4 envs"]
    assert found.notes[:2] == ("only old has y, 4 envs", "only new has z, 4 envs")


def test_too_few_rounds_for_so_many_cells_are_told():
    labels = {f"case{n}": 100.0 for n in range(12)}
    found = compare_sessions(side("a", labels, rounds=5), side("b", labels, seed=2, rounds=5))
    smallest = 11 * 2 / 252
    assert found.cells[0].smallest == pytest.approx(smallest)
    assert any("smallest reachable p is 0.0873" in note for note in found.notes)


def test_p_values_are_adjusted_for_the_number_of_cells():
    found = compare_sessions(side("a", OLD), side("b", NEW, seed=2))
    slower = next(cell for cell in found.cells if cell.name.startswith("slower"))
    assert slower.test.p == pytest.approx(2 / 924)
    assert slower.p == pytest.approx(3 * 2 / 924)


def test_less_is_better_for_time_and_memory():
    old = side("a", {"base": 1.0, "x": 1.0}, noise=0.0)
    rows = [
        dataclasses.replace(
            s, measurement=dataclasses.replace(s.measurement, memory=2**20 * (1 + s.case))
        )
        for s in old.session.samples
    ]
    new = dataclasses.replace(old, session=dataclasses.replace(old.session, samples=tuple(rows)))
    [cell] = compare_sessions(old, new, metric="memory").cells
    assert (cell.effect.value, cell.verdict) == (pytest.approx(2.0), Verdict.REGRESSED)
    [cell] = compare_sessions(new, old, metric="memory").cells
    assert cell.verdict is Verdict.IMPROVED


def test_a_larger_minimum_effect_forgives_more():
    old, new = side("a", OLD), side("b", NEW, seed=2)
    assert verdicts(old, new, criteria=Criteria(minimum_effect=0.8))["slower"] is (
        Verdict.WITHIN_NOISE
    )


def test_references_can_be_chosen_and_must_be_there():
    found = compare_sessions(side("a", OLD), side("b", NEW, seed=2), reference="same")
    assert found.cells[0].name == "base, 4 envs"
    with pytest.raises(NotComparableError, match="'nobody' was not measured with 4 envs"):
        compare_sessions(side("a", OLD), side("b", NEW), reference="nobody")
    with pytest.raises(UsageError, match="as they are"):
        compare_sessions(side("a", OLD), side("b", NEW), reference="same", basis="rate")
    with pytest.raises(UsageError, match="no metric 'speed'"):
        compare_sessions(side("a", OLD), side("b", NEW), metric="speed")


def test_the_same_code_is_rarely_called_different():
    alarms = 0
    for trial in range(30):
        found = verdicts(
            side("a", OLD, seed=10 + trial, noise=0.05),
            side("b", OLD, seed=900 + trial, noise=0.05),
        )
        alarms += bool({Verdict.REGRESSED, Verdict.IMPROVED} & set(found.values()))
    assert alarms <= 3


@pytest.mark.parametrize("then", [False, True])
@pytest.mark.parametrize("now", [False, True])
def test_only_deterministic_cases_must_give_the_same_transitions(then, now):
    old, new = (
        side(name, OLD, cases=[case(x, deterministic=sure) for x in OLD], transition_hash=name)
        for name, sure in (("a", then), ("b", now))
    )
    refused = set(verdicts(old, new).values()) == {Verdict.NOT_COMPARABLE}
    assert refused == (then and now)
