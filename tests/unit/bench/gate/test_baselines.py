from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.compare.searches import Margins
from wfbench.benchmarks.gate.baseline_store import (
    Baseline,
    make_baseline,
    read_baseline,
    save_baseline,
)
from wfbench.benchmarks.gate.check import cases_now
from wfbench.benchmarks.gate.learning_baseline import LearningBaseline
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.contract import EnvRef, NotComparableError, UsageError
from wfbench.host.manager import PluginSettings, load_plugins

KEPT = Path(__file__).parents[3] / "formats" / "data"


def session(foreign_cpu: float = 0.0) -> Session:
    """Two cases in four rounds of a second each, beside others that took so much of the CPU."""
    cases = tuple(
        Case(label, "made:Made", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)
        for label in ("sequential", "shm")
    )
    taken = Measurement(
        *(0.1, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, {"env": 1.0}, 0, 0, 0, 0, 0.0, 0),
        (),
        "h",
        batched=False,
        foreign_cpu=foreign_cpu,
    )
    samples = [Sample(i % 2, i // 2, i, 0, measurement=taken) for i in range(8)]
    return Session(cases, Settings(rounds=4), tuple(samples))


def test_a_run_of_a_busy_machine_becomes_a_baseline_by_force_only(tmp_path: Path) -> None:
    for name, found in (("calm", session()), ("busy", session(1.02))):
        with SessionWriter(tmp_path, name, found.cases, found.settings) as writer:
            for sample in found.samples:
                writer.record(sample)
    kept = tmp_path / "kept"
    with pytest.raises(NotComparableError, match=r"took up to 1\.0 cores .* --force"):
        save_baseline("made", ["busy"], out=tmp_path, baselines=kept)
    assert not kept.exists()
    save_baseline("calm", ["calm"], out=tmp_path, baselines=kept)
    file, made = save_baseline("made", ["busy"], out=tmp_path, baselines=kept, force=True)
    assert isinstance(made, Baseline)
    assert made.disturbed
    assert read_baseline(file) == made


@pytest.mark.parametrize(
    ("given", "margins"),
    [
        ({}, Margins(None, 0.05)),
        ({"return_margin": 0.001}, Margins(0.001, 0.05)),
        ({"compliance_margin": 0.5}, Margins(None, 0.5)),
    ],
)
def test_a_baseline_of_searches_keeps_its_margins(
    given: dict[str, float], margins: Margins, tmp_path: Path
) -> None:
    file, made = save_baseline("made", [KEPT / "search"], baselines=tmp_path, **given)  # type: ignore[arg-type]
    assert isinstance(made, LearningBaseline)
    assert (made.margins, made.steps) == (margins, 120)
    assert read_baseline(file) == made
    with pytest.raises(UsageError, match="--replace"):
        save_baseline("made", [KEPT / "search"], baselines=tmp_path)


@pytest.mark.parametrize(
    ("runs", "given", "problem"),
    [
        (["search"], {"return_margin": 0.0}, "a margin is 0; it must be above 0"),
        (["search"], {"compliance_margin": 0.0}, "a margin is 0; it must be above 0"),
        (["search"], {"return_margin": -1.5}, "a margin is -1.5"),
        (["search"], {"reference": "shm"}, "--reference and --force belong to bench runs"),
        (["search"], {"force": True}, "--reference and --force belong to bench runs"),
        (["bench"], {"steps": 3}, "--steps and margins belong to searches"),
        (["bench"], {"return_margin": 1.0}, "--steps and margins belong to searches"),
        (["bench"], {"compliance_margin": 1.0}, "--steps and margins belong to searches"),
        (["bench", "bench"], {}, "is made of one bench run; name only one"),
    ],
)
def test_what_belongs_to_the_other_kind_of_baseline_is_refused(
    runs: list[str], given: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=problem):
        save_baseline("made", [KEPT / run for run in runs], baselines=tmp_path, **given)
    assert not list(tmp_path.iterdir())


class TestCasesNow:
    @staticmethod
    def remade(**changed: Any) -> list[Case]:
        then = Case(
            "shm:workers=2",
            "gone:Shm",
            {"workers": 2},
            EnvRef("synthetic", "gone:Env", None, {"obs_size": 7}),
            4,
            "random",
            deterministic=True,
        )
        made = make_baseline(session(), "made", created="then", machine={})
        cell = replace(made.cells[0], case=replace(then, **changed))
        host = load_plugins(PluginSettings(external=False))
        return cases_now(host, replace(made, cells=(cell,)))

    def test_cases_are_built_by_the_code_that_is_installed(self) -> None:
        [found] = self.remade()
        assert found.label == "shm:workers=2"
        assert found.factory == "wfbench_collectors.shm:ShmCollector"
        assert found.options["workers"] == 2
        assert found.env.factory == "wfbench_synthetic.env:SyntheticEnv"
        assert found.env.options["obs_size"] == 7

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"label": "gone"}, "'made' cannot be measured here: there is no collector 'gone'"),
            ({"options": {"workers": 2, "wings": 1}}, "no longer has the option 'wings'"),
            ({"options": {}}, "shm:workers=2 is shm now"),
            ({"env": EnvRef("gone", "")}, "there is no env 'gone'"),
            ({"env": EnvRef("synthetic", "", None, {"gone": 1})}, "no longer has the option"),
            ({"policy": "wise"}, "there is no policy 'wise'"),
        ],
    )
    def test_what_differs_is_named(self, changed: dict[str, Any], message: str) -> None:
        with pytest.raises(NotComparableError, match=message):
            self.remade(**changed)
