from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from wfbench.benchmarks.gate.baseline_store import (
    Baseline,
    find_baseline,
    make_baseline,
    names,
    read_baseline,
    write_baseline,
)
from wfbench.benchmarks.gate.speed_check import (
    FOREIGN_EFFECT,
    SpeedCheck,
    Threshold,
    busy_notes,
    choose_threshold,
    run_check,
)
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import EnvRef, NotComparableError, UsageError
from wfbench.report import make_report
from wfbench.report.formats.choosing import our_formats
from wfbench.report.sections.check import check_data, check_section, outcome

LABELS = ("sequential", "pipe", "shm", "async", "vector")
MACHINE = {"cpu": "one", "usable_cores": 2}
ENV = EnvRef("made", "made:Env")
SETTINGS = Settings(rounds=6)
NOISE = 0.08
"""Of one sample's rate; what a shared two-core machine was seen to have."""


def case(label: str, n_envs: int = 4) -> Case:
    return Case(label, "made:Made", {}, ENV, n_envs, "random", deterministic=True)


CASES = [case(label) for label in LABELS]
HERE = Threshold(same_machine=True)


def measured(rate: float) -> Measurement:
    return Measurement(
        *(0.1, 0.1, 1.0, 1.0, 0.0, round(1e6 * rate), 10, 2**20, {"env": 1.0}, 0, 0, 0, 0, 0.0, 0),
        (),
        "h",
        batched=False,
    )


def simulated(
    cases: Sequence[Case], settings: Settings, seed: int, speeds: dict[str, float] | None = None
) -> Session:
    """A session on a machine that slows down for whole rounds and disturbs every sample."""
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(settings.rounds):
        common = rng.normal(0.0, 0.3)
        for index, one in enumerate(cases):
            speed = (1 + LABELS.index(one.label)) * (speeds or {}).get(one.label, 1.0)
            rate = speed * math.exp(common + rng.normal(0.0, NOISE))
            samples.append(Sample(index, number, len(samples), 0, measurement=measured(rate)))
    return Session(tuple(cases), settings, tuple(samples))


def remembered(session: Session, **changed: Any) -> Baseline:
    return make_baseline(session, "made", created="then", machine=MACHINE, **changed)


def checked(
    seed: int,
    speeds: dict[str, float] | None = None,
    again: dict[str, float] | None = None,
    threshold: Threshold | None = None,
    spoil: Callable[[Session], Session] = lambda session: session,
) -> SpeedCheck:
    """A check of simulated sessions; `again` are the speeds of the second measurement."""
    baseline = remembered(simulated(CASES, SETTINGS, 3 * seed))

    def measure(cases: Sequence[Case], settings: Settings) -> Session:
        first = settings == SETTINGS
        now = speeds if first or again is None else again
        return spoil(simulated(cases, settings, 3 * seed + (1 if first else 2), now))

    return run_check(baseline, CASES, SETTINGS, threshold or Threshold(), measure)


def test_the_same_code_twice_is_no_regression_in_19_of_20_tries() -> None:
    tries = 60
    alarms = [seed for seed in range(tries) if checked(seed).exit_code(inconclusive_fails=False)]
    assert len(alarms) <= tries / 20


def test_a_collector_that_got_30_percent_slower_is_found_and_named() -> None:
    tries = 30
    slower = {"shm": 1 / 1.3}
    found = [checked(seed, slower) for seed in range(tries)]
    named = [[cell.label for cell in one.with_verdict(Verdict.REGRESSED)] for one in found]
    assert sum("shm" in labels for labels in named) >= 0.7 * tries
    assert sum(len(labels) > 1 for labels in named) <= tries / 20


def test_an_improvement_is_said_and_fails_nothing() -> None:
    found = checked(1, {"vector": 2.0})
    assert [cell.label for cell in found.with_verdict(Verdict.IMPROVED)] == ["vector"]
    assert found.exit_code(inconclusive_fails=False) == 0


def test_what_is_not_confirmed_does_not_fail() -> None:
    found = checked(2, {"shm": 0.5}, again={})
    [cell] = [cell for cell in found.cells if cell.label == "shm"]
    assert cell.first is not None
    assert cell.first.verdict is Verdict.REGRESSED
    assert cell.verdict is Verdict.INCONCLUSIVE
    assert "not confirmed" in cell.why
    assert found.exit_code(inconclusive_fails=False) == 0
    assert found.exit_code(inconclusive_fails=True) == 4


def test_what_is_shown_of_a_cell_is_all_of_one_measurement() -> None:
    found = checked(2, {"shm": 0.5}, again={})
    for cell in found.cells[1:]:
        judged = cell.again or cell.first
        assert judged is not None
        assert judged.change is not None
        assert cell.now is not None
        assert cell.now.value == pytest.approx(cell.then.value * judged.change.value)


def test_the_confirmation_measures_the_same_cases_with_fresh_seeds() -> None:
    first, again = checked(3, {"shm": 0.5}).sessions
    assert [one.label for one in first.cases] == list(LABELS)
    assert first.cases == again.cases
    assert again.settings == replace(first.settings, seed=first.settings.seed + 1_000_003)


def test_collectors_that_got_faster_do_not_fail_the_reference() -> None:
    for faster in ({"pipe": 1.4, "shm": 1.4}, {"pipe": 2.0, "shm": 2.0, "async": 2.0}):
        for seed in range(10):
            found = checked(seed, faster, threshold=HERE)
            assert found.exit_code(inconclusive_fails=False) == 0
            assert found.cells[0].verdict is not Verdict.REGRESSED


def test_where_all_others_got_faster_their_rates_acquit_the_reference() -> None:
    faster = dict.fromkeys(LABELS[1:], 2.0)
    here, elsewhere = (checked(4, faster, threshold=t) for t in (HERE, Threshold()))
    assert here.cells[0].why.endswith("its own rate did not fall: the others got faster")
    assert "which only rates of one machine tell" in elsewhere.cells[0].why
    for found in (here, elsewhere):
        assert found.cells[0].verdict is Verdict.INCONCLUSIVE
        assert found.exit_code(inconclusive_fails=False) == 0


def test_a_reference_that_got_faster_fails_none_of_the_others() -> None:
    found = checked(5, {"sequential": 2.5}, threshold=HERE)
    assert found.exit_code(inconclusive_fails=False) == 0
    assert found.cells[2].why.endswith("its own rate did not fall: sequential got faster")


def test_a_reference_that_got_slower_is_found_by_what_the_others_gain() -> None:
    found = checked(4, {"sequential": 0.5}, threshold=HERE)
    assert [cell.label for cell in found.with_verdict(Verdict.REGRESSED)] == ["sequential"]
    assert len(found.with_verdict(Verdict.IMPROVED)) == 4
    assert "sequential got slower" in outcome(found)[1]


def test_where_all_others_fall_both_causes_are_told() -> None:
    found = checked(5, {"sequential": 1 / 0.6})
    assert len(found.with_verdict(Verdict.REGRESSED)) == 4
    assert "all others fell against sequential at 4 envs" in our_formats()["md"].render(
        make_report(check_section(found))
    )


def test_one_improvement_does_not_make_the_reference_look_slower() -> None:
    found = checked(6, {"vector": 4.0})
    assert found.cells[0].verdict is not Verdict.REGRESSED


def test_a_reference_with_few_others_is_said_not_to_be_judged() -> None:
    for count, judged in ((2, False), (3, False), (4, True)):
        some = CASES[:count]
        baseline = remembered(simulated(some, SETTINGS, 0))
        found = run_check(baseline, some, SETTINGS, Threshold(), lambda c, s: simulated(c, s, 1))
        assert (found.cells[0].verdict is not Verdict.NOT_COMPARABLE) == judged
        assert ("at least three others" in found.cells[0].why) != judged


def failing(session: Session) -> Session:
    spoilt = [
        replace(s, measurement=None, failure="it hung") if s.case == 2 and s.round == 1 else s
        for s in session.samples
    ]
    return replace(session, samples=tuple(spoilt))


def test_a_failing_sample_counts_before_everything_else() -> None:
    found = checked(7, {"vector": 0.5}, spoil=failing)
    assert found.exit_code(inconclusive_fails=False) == 3
    assert found.cells[2].failures == ("it hung",)
    assert "shm" in outcome(found)[1]


def busy(session: Session) -> Session:
    """The same, while others kept a whole core busy."""
    spoilt = [
        replace(s, measurement=replace(s.measurement, foreign_cpu=s.measurement.wall))
        for s in session.samples
        if s.measurement is not None
    ]
    return replace(session, samples=tuple(spoilt))


def test_a_slow_down_on_a_busy_machine_is_inconclusive_unless_it_is_to_be_judged() -> None:
    slower = {"shm": 0.5}
    judged = checked(2, slower, spoil=busy)
    assert [cell.label for cell in judged.with_verdict(Verdict.REGRESSED)] == ["shm"]
    careful = checked(2, slower, threshold=Threshold(quiet=0.5), spoil=busy)
    assert careful.cells[2].verdict is Verdict.INCONCLUSIVE
    assert careful.cells[2].why.endswith("but other programs used 1.0 cores meanwhile")
    assert careful.exit_code(inconclusive_fails=False) == 0
    quiet = checked(2, slower, threshold=Threshold(quiet=0.5))
    assert [cell.label for cell in quiet.with_verdict(Verdict.REGRESSED)] == ["shm"]


def test_against_a_baseline_of_a_busy_machine_the_worst_is_inconclusive() -> None:
    baseline = remembered(busy(simulated(CASES, SETTINGS, 6)))

    def measure(cases: Sequence[Case], settings: Settings) -> Session:
        return simulated(cases, settings, 7 if settings == SETTINGS else 8, {"shm": 0.5})

    found = run_check(baseline, CASES, SETTINGS, Threshold(), measure)
    assert found.cells[2].verdict is Verdict.INCONCLUSIVE
    assert found.cells[2].why.endswith("but the baseline is of a busy machine")
    assert found.exit_code(inconclusive_fails=False) == 0


def unequal(session: Session) -> Session:
    spoilt = [
        replace(s, measurement=replace(s.measurement, transition_hash="x")) if s.case == 1 else s
        for s in session.samples
        if s.measurement is not None
    ]
    return replace(session, samples=tuple(spoilt))


def test_a_collector_that_collects_something_else_fails() -> None:
    found = checked(8, spoil=unequal)
    assert found.exit_code(inconclusive_fails=False) == 3
    assert outcome(found)[1] == "FAILED: pipe could not be measured soundly"


def test_too_few_rounds_to_reach_any_p_value_are_inconclusive() -> None:
    baseline = remembered(simulated(CASES, SETTINGS, 0))
    few = replace(SETTINGS, rounds=1)
    found = run_check(
        baseline, CASES, few, Threshold(), lambda c, s: simulated(c, s, 1, {"shm": 0.1})
    )
    assert {cell.verdict for cell in found.cells} == {Verdict.INCONCLUSIVE}
    pair = replace(SETTINGS, rounds=2)
    found = run_check(baseline, CASES, pair, Threshold(), lambda c, s: simulated(c, s, 1))
    assert {cell.first.smallest < 1 for cell in found.cells if cell.first} == {True}


class TestBaselines:
    def test_a_baseline_comes_back_as_it_was(self, tmp_path: Path) -> None:
        made = remembered(simulated(CASES, SETTINGS, 0))
        folder = tmp_path / "quite" / "new"
        path = write_baseline(folder, made, replace=False)
        assert read_baseline(path) == made
        assert names(folder) == ["made"]
        with pytest.raises(UsageError, match="already exists; say --replace"):
            write_baseline(folder, made, replace=False)
        write_baseline(folder, made, replace=True)

    def test_ratios_do_not_depend_on_how_fast_the_machine_is(self) -> None:
        made = simulated(CASES, SETTINGS, 0)
        twice = replace(
            made,
            samples=tuple(
                replace(s, measurement=replace(s.measurement, wall=0.5))
                for s in made.samples
                if s.measurement is not None
            ),
        )
        slow, fast = (remembered(one) for one in (made, twice))
        assert fast.cells[3].rates[0] == pytest.approx(2 * slow.cells[3].rates[0])
        assert fast.cells[3].log_ratios == pytest.approx(slow.cells[3].log_ratios)
        assert set(slow.cells[0].log_ratios) == {0.0}

    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (lambda s: replace(s, settings=replace(s.settings, smoke=True)), "smoke run"),
            (lambda s: replace(s, samples=s.samples[:-1]), "1 samples are missing"),
            (failing, "round 2 of shm cannot be used: it hung"),
            (unequal, "pipe collected other transitions than sequential"),
        ],
    )
    def test_what_is_not_sound_becomes_no_baseline(
        self, spoil: Callable[[Session], Session], message: str
    ) -> None:
        with pytest.raises(NotComparableError, match=message):
            remembered(spoil(simulated(CASES, SETTINGS, 0)))

    def test_too_few_rounds_or_cases_become_no_baseline(self) -> None:
        with pytest.raises(NotComparableError, match="3 rounds are too few"):
            remembered(simulated(CASES, Settings(rounds=3), 0))
        with pytest.raises(NotComparableError, match="a ratio needs a second case"):
            remembered(simulated(CASES[:1], SETTINGS, 0))

    def test_any_case_can_be_the_reference(self) -> None:
        session = simulated(CASES, SETTINGS, 0)
        assert set(remembered(session, reference="shm").cells[2].log_ratios) == {0.0}
        with pytest.raises(UsageError, match="there is no case 'other'; choose from sequential"):
            remembered(session, reference="other")

    def test_which_one_is_meant(self, tmp_path: Path) -> None:
        with pytest.raises(NotComparableError, match="there is no baseline in"):
            find_baseline(tmp_path, None)
        made = remembered(simulated(CASES, SETTINGS, 0))
        path = write_baseline(tmp_path, made, replace=False)
        assert find_baseline(tmp_path, None) == path
        assert find_baseline(tmp_path, "made") == path
        assert find_baseline(Path("elsewhere"), str(path)) == path
        with pytest.raises(NotComparableError, match=r"no baseline 'other' .*; there are made"):
            find_baseline(tmp_path, "other")
        write_baseline(tmp_path, replace(made, name="second"), replace=False)
        with pytest.raises(UsageError, match=r"say --baseline made\|second"):
            find_baseline(tmp_path, None)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"schema": "wfbench/baseline/9"}, "schema 'wfbench/baseline/9'.*save the baseline"),
            ({"cells": []}, "cells without rounds"),
            ({"cells": 3}, "cells is 3.*save the baseline"),
        ],
    )
    def test_a_file_of_another_kind_is_not_comparable(
        self, tmp_path: Path, changed: dict[str, Any], message: str
    ) -> None:
        path = write_baseline(tmp_path, remembered(simulated(CASES, SETTINGS, 0)), replace=False)
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))
        with pytest.raises(NotComparableError, match=message):
            read_baseline(path)

    @pytest.mark.parametrize(
        ("field", "value"),
        [("log_ratios", math.nan), ("rates", math.inf), ("rates", 0.0), ("cpu_us", 0.0)],
    )
    def test_figures_that_nobody_can_have_measured_are_refused(
        self, tmp_path: Path, field: str, value: float
    ) -> None:
        path = write_baseline(tmp_path, remembered(simulated(CASES, SETTINGS, 0)), replace=False)
        values = json.loads(path.read_text())
        cell = values["cells"][1]
        cell[field] = value if field == "cpu_us" else [value, *cell[field][1:]]
        path.write_text(json.dumps(values))
        with pytest.raises(NotComparableError, match=r"figures that cannot be measured"):
            read_baseline(path)


class TestThreshold:
    BASELINE = remembered(simulated(CASES, SETTINGS, 0))

    def test_without_calibration_it_says_so(self) -> None:
        threshold, [note] = choose_threshold(self.BASELINE, MACHINE, None, None)
        assert threshold == HERE
        assert "not calibrated" in note

    def test_on_another_machine_more_must_change(self) -> None:
        threshold, notes = choose_threshold(self.BASELINE, {"cpu": "other"}, None, None)
        assert threshold.minimum_effect == FOREIGN_EFFECT
        assert "made on another machine (one, 2 cores; here: other, ? cores)" in notes[-1]

    def test_what_is_asked_for_wins(self) -> None:
        assert choose_threshold(self.BASELINE, {}, None, 0.3)[0].minimum_effect == 0.3
        with pytest.raises(UsageError, match="--minimum-effect 0"):
            choose_threshold(self.BASELINE, {}, None, 0.0)


def test_junit_has_a_case_for_every_cell() -> None:
    found = checked(9, {"shm": 0.5}, spoil=lambda session: session)
    [suite] = Xml.fromstring(our_formats()["junit"].render(make_report(check_section(found))))  # noqa: S314 - ours
    assert suite.get("tests") == "5"
    assert suite.get("failures") == "1"
    [failed] = [case for case in suite if case.find("failure") is not None]
    assert failed.get("name") == "shm, 4 envs"


def test_a_label_cannot_break_a_comment_or_a_test_file() -> None:
    found = checked(10)
    nasty = "a|b<script>@all`*\x00\n# big"
    cells = (replace(found.cells[1], label=nasty, failures=(nasty,)), *found.cells[1:])
    found = replace(found, cells=cells)
    section = check_section(found, (nasty,), strict=True)
    Xml.fromstring(our_formats()["junit"].render(make_report(section)))  # noqa: S314 - ours
    text = our_formats()["md"].render(make_report(section))
    for mark in ("<script", "@all", "\n# big"):
        assert mark not in text
    rows = [line.replace("\\|", "") for line in text.partition("<details>")[0].splitlines()]
    assert len({line.count("|") for line in rows if line.startswith("|")}) == 1


def test_the_data_of_a_check_is_plain_json() -> None:
    data = check_data(checked(11, {"shm": 0.5}), ("n",), exit_code=1)
    text = json.loads(json.dumps(data, allow_nan=False))
    assert text["verdict"] == "regressed"
    assert [cell["label"] for cell in text["cells"]] == list(LABELS)
    assert "sessions" not in text


def test_settings_of_a_baseline_are_those_of_its_run() -> None:
    made = remembered(simulated(CASES, SETTINGS, 0))
    assert asdict(made)["settings"] == asdict(SETTINGS)


def test_a_busy_machine_is_told_then_and_now() -> None:
    quiet = simulated(CASES, SETTINGS, 0)
    busy = replace(
        quiet,
        samples=tuple(
            replace(s, measurement=replace(s.measurement, foreign_cpu=2.0))
            for s in quiet.samples
            if s.measurement is not None
        ),
    )
    assert busy_notes(remembered(quiet), [quiet]) == ()
    assert not remembered(quiet).disturbed
    assert remembered(busy).disturbed
    then, now = busy_notes(remembered(busy), [quiet, busy])
    assert "the baseline was measured while other programs used" in then
    assert "other programs used up to" in now
