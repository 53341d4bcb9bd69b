from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.benchmarks.compare.model import Comparison, Criteria
from wfbench.benchmarks.compare.sessions import METRICS, Side, compare_sessions, load_side
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import EnvRef, NotComparableError, UsageError
from wfbench.store.event_log import plain
from wfbench.store.files import write_json

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
            {"cases": [case(x, env=EnvRef("other", "made:Env")) for x in OLD]},
            "env made / other; measure both",
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


def changed(one: Side, change: Callable[[Sample], Sample]) -> Side:
    """The side with every sample changed."""
    samples = tuple(map(change, one.session.samples))
    return dataclasses.replace(one, session=dataclasses.replace(one.session, samples=samples))


def marked(cases: set[int], rounds: set[int]) -> Callable[[Sample], Sample]:
    """What marks the samples of these cases in these rounds."""

    def change(one: Sample) -> Sample:
        if one.case not in cases or one.round not in rounds:
            return one
        taken = dataclasses.replace(one.measurement or MEASURED, marks=("restarted",))
        return dataclasses.replace(one, measurement=taken)

    return change


def taking_turns(one: Sample) -> Sample:
    """What adds turns that say twice of what the whole windows say."""
    wall = (one.measurement or MEASURED).wall
    turns, beside = ((500, wall / 2, 0.1), (700, wall / 2, 0.2)), ((300, wall, 0.3), (310, wall, 1))
    taken = dataclasses.replace(one.measurement or MEASURED, turns=turns, beside=beside)
    return dataclasses.replace(one, measurement=taken)


def far_off(one: Sample) -> Sample:
    """What makes one sample of the second case ten times as fast."""
    if (one.case, one.round) != (1, 3) or one.measurement is None:
        return one
    wall = one.measurement.wall / 10
    return dataclasses.replace(one, measurement=dataclasses.replace(one.measurement, wall=wall))


def compared() -> dict[str, Comparison]:
    """Comparisons of sessions of many kinds."""
    old, new = side("a", OLD), side("b", NEW, seed=2)
    heavy = side("heavy", OLD, cpu=2.5, memory=2**21)
    light = side("light", NEW, seed=2, cpu=2.0, start_up=0.25)
    sizes = [case(label, n_envs=n) for n, label in ((9, "x"), (4, "x"), (9, "y"), (4, "y"))]
    both = dict(zip("abcd", (900.0, 1100.0, 30.0, 40.0), strict=True))
    other = {"machine": THERE, "cases": [*sizes[:3], case("z", n_envs=4)]}
    few = side("few", OLD, rounds=3)
    return {
        "plain": compare_sessions(old, new),
        **{name: compare_sessions(heavy, light, metric=name, basis="rate") for name in METRICS},
        "ratios of one case to the other": compare_sessions(
            side("a", both, cases=sizes), side("b", both, cases=sizes, seed=2), reference="y"
        ),
        "elsewhere": compare_sessions(side("a", both, cases=sizes), side("b", both, **other)),
        "old from nowhere": compare_sessions(dataclasses.replace(old, machine=None), new),
        "new from nowhere": compare_sessions(old, dataclasses.replace(new, machine=None)),
        "busy": compare_sessions(side("a", OLD, foreign_cpu=50.0), new),
        "marked": compare_sessions(old, changed(new, marked({2}, set(range(6))))),
        "never together": compare_sessions(
            old, changed(changed(new, marked({0}, {0, 1, 2})), marked({3}, {3, 4, 5}))
        ),
        "with turns": compare_sessions(changed(old, taking_turns), new),
        "cpu with turns": compare_sessions(changed(heavy, taking_turns), heavy, metric="cpu"),
        "far off": compare_sessions(old, changed(new, far_off)),
        "few": compare_sessions(few, side("b", OLD, seed=2, rounds=3), basis="rate"),
        "other seed": compare_sessions(old, side("b", OLD, settings=Settings(rounds=6, seed=1))),
    }


def test_comparisons_of_chosen_sessions_say_what_they_said(
    golden: Callable[[str, str], None],
) -> None:
    lines = []
    for name, found in compared().items():
        lines += [f"# {name}: {found.kind}, {found.old} {found.new}, {found.basis}"]
        lines += [*map(repr, found.cells), *found.notes]
    golden("sessions.txt", "\n".join(lines))


def test_a_reference_from_a_thousand_on_is_told_in_whole_numbers() -> None:
    def measured(one: Sample, rate: float) -> Sample:
        taken = dataclasses.replace(MEASURED, wall=1000 / rate)
        return dataclasses.replace(one, measurement=taken)

    plain = side("a", {"base": 1.0, "x": 1.0})
    old, new = (
        changed(plain, lambda one, rate=rate: measured(one, rate))  # type: ignore[misc]
        for rate in (999.96, 1000.4)
    )
    [note] = compare_sessions(old, new).notes
    assert note.startswith("the reference itself, base, 4 envs: 1000 -> 1,000 transitions/s")


@pytest.mark.parametrize(("seconds", "said"), [(1.02, False), (1.03, True)])
def test_others_may_use_a_tenth_of_a_core(seconds: float, *, said: bool) -> None:
    """In ten seconds that is 1 s, and the system's clock may be wrong by 0.02 s."""

    def used(one: Sample) -> Sample:
        taken = dataclasses.replace(MEASURED, wall=10.0, foreign_cpu=seconds)
        return one if one.position else dataclasses.replace(one, measurement=taken)

    old = side("a", {"base": 100.0})
    notes = compare_sessions(old, changed(old, used)).notes
    assert any("other programs used up to 0.1 cores" in note for note in notes) == said


@pytest.mark.parametrize(("index", "fits"), [(-1, False), (0, True), (1, True), (2, False)])
def test_a_printed_session_must_have_the_cases_of_its_samples(
    index: int, tmp_path: Path, *, fits: bool
) -> None:
    old = side("a", {"base": 1000.0, "x": 2000.0}, rounds=1)
    session = changed(old, lambda one: dataclasses.replace(one, case=index)).session
    path = tmp_path / "printed.json"
    write_json(path, "bench/1", plain({**session.as_data(), "run": "r", "summaries": []}))
    assert json.loads(path.read_text())["samples"][0]["case"] == index
    if fits:
        assert load_side(path) == Side(str(path), session)
    else:
        with pytest.raises(UsageError, match=f"there is no case {index}"):
            load_side(path)
