"""The check of whatever baseline there is, with measurements that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.gate import check as module
from wfbench.benchmarks.gate.baseline_store import make_baseline, save_baseline, write_baseline
from wfbench.benchmarks.gate.check import check, smoke_check
from wfbench.benchmarks.gate.learning_baseline import LearningCheck
from wfbench.benchmarks.gate.speed_check import SpeedCheck
from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import NotComparableError, UsageError
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins

KEPT = Path(__file__).parents[3] / "formats" / "data"
MEASURED = Measurement(
    *(0.1, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, {"env": 1.0}, 0, 0, 0, 0, 0.0, 0),
    (),
    "h",
    batched=False,
    foreign_cpu=0.0,
)


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


def session(
    cases: Sequence[Case], settings: Settings, wall: float = 1.0, **changed: Any
) -> Session:
    """A session without noise; the last case takes so many seconds for a window."""
    samples = []
    for position in range(len(cases) * settings.rounds):
        number, index = divmod(position, len(cases))
        taken = replace(MEASURED, wall=wall if index == len(cases) - 1 else 1.0, **changed)
        samples.append(Sample(index, number, position, 0, measurement=taken))
    return Session(tuple(cases), settings, tuple(samples))


class Machine:
    """Measures at once, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.wall, self.changed = 1.0, dict[str, Any]()
        self.asked: list[Settings] = []
        self.hangs = 0
        """In which session a sample of the second case hangs, counted from 1."""

    def measure(self, cases: Sequence[Case], settings: Settings, **_: Any) -> tuple[Session, Path]:
        return self.run(cases, settings), Path("run")

    def run(self, cases: Sequence[Case], settings: Settings, *_: Any) -> Session:
        self.asked.append(settings)
        found = session(cases, settings, self.wall, **self.changed)
        if len(self.asked) == self.hangs:
            first = replace(found.samples[1], measurement=None, failure="it hung")
            found = replace(found, samples=(found.samples[0], first, *found.samples[2:]))
        return found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    found = Machine()
    monkeypatch.setattr(module, "measure_session", found.measure)
    monkeypatch.setattr(module, "run_session", found.run)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def kept(host: PluginHost, tmp_path: Path) -> Path:
    """A folder with a baseline of speed, of five rounds."""
    cases = select_cases(
        host, collectors=["sequential", "vector"], env="synthetic", n_envs=[4], policy="random"
    )
    made = make_baseline(session(cases, Settings()), "made", created="then", machine={"cpu": "x"})
    return write_baseline(tmp_path / "kept", made, replace=False).parent


def checked(host: PluginHost, kept: Path, **given: Any) -> SpeedCheck:
    found = check(host, baselines=kept, samples=kept / "samples", **given)
    assert isinstance(found, SpeedCheck)
    return found


def test_a_slow_down_is_confirmed_and_fails(host: PluginHost, kept: Path, machine: Machine) -> None:
    machine.wall = 1.5
    found = checked(host, kept, minimum_effect=0.3)
    assert [cell.verdict for cell in found.cells][1:] == [Verdict.REGRESSED]
    assert found.baseline_file == str(kept / "made.json")
    assert machine.asked == [Settings(), Settings(seed=1_000_003)]
    assert found.threshold.minimum_effect == 0.3
    assert found.machine is not None
    assert "usable_cores" in found.machine


@pytest.mark.parametrize(
    ("busy", "cores", "quiet"),
    [("inconclusive", 2, 0.5), ("inconclusive", 64, 6.4), ("judge", 64, None)],
)
def test_what_counts_as_quiet_grows_with_the_machine(
    host: PluginHost,
    kept: Path,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    busy: Any,
    cores: int,
    quiet: float | None,
) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: cores)
    machine.changed = {"foreign_cpu": 3.0}
    found = checked(host, kept, busy=busy, rounds=4)
    assert found.threshold.quiet == (None if quiet is None else pytest.approx(quiet))
    assert [one.rounds for one in machine.asked] == [4]
    assert found.notes[0].startswith("this machine is not calibrated")
    assert "other programs used up to 3.0 cores meanwhile" in found.notes[-1]


@pytest.mark.parametrize(
    "given", [{"rounds": 3}, {"minimum_effect": 0.1}, {"busy": "judge"}, {"rounds": 0}]
)
def test_what_belongs_to_speed_is_refused_for_learning(
    host: PluginHost, tmp_path: Path, given: dict[str, Any]
) -> None:
    save_baseline("learned", [KEPT / "search"], baselines=tmp_path)
    with pytest.raises(UsageError, match="--rounds, --minimum-effect and --busy belong to"):
        check(host, baselines=tmp_path, samples=tmp_path, runs=[KEPT / "search-2"], **given)


def test_a_baseline_of_learning_is_compared_with_searches(host: PluginHost, tmp_path: Path) -> None:
    save_baseline("learned", [KEPT / "search"], baselines=tmp_path)
    found = check(host, baselines=tmp_path, samples=tmp_path, runs=[KEPT / "search"])
    assert isinstance(found, LearningCheck)
    assert found.comparison.new == (str(KEPT / "search"),)
    with pytest.raises(UsageError, match=r"search again with the same settings \(seeds \d+\)"):
        check(host, baselines=tmp_path, samples=tmp_path)


def test_a_baseline_of_speed_takes_no_runs(host: PluginHost, kept: Path) -> None:
    with pytest.raises(UsageError, match="made is a baseline of speed, which check measures"):
        checked(host, kept, runs=["bench"])


def test_a_smoke_check_plants_a_slow_down_and_finds_it(host: PluginHost, machine: Machine) -> None:
    machine.wall = 2.0
    found = smoke_check(host, baselines=Path("kept"))
    smoke = Settings(rounds=4, seconds=0.05, steps=10, smoke=True)
    assert machine.asked == [smoke, smoke, replace(smoke, seed=1_000_003)]
    assert found.reference == "sequential"
    [reference, planted] = found.cells
    assert (planted.label, planted.n_envs) == ("shm:workers=2", 8)
    assert planted.verdict is Verdict.REGRESSED
    assert planted.first is not None
    assert planted.first.change.value == pytest.approx(1e-6)
    assert reference.rate_now == pytest.approx(reference.rate_then)


def test_a_smoke_check_that_finds_nothing_is_a_bug(
    host: PluginHost, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PLANTED", 1.0)
    with pytest.raises(RuntimeError, match=r"shm:workers=2 was made to look .* the gate says no"):
        smoke_check(host, baselines=Path("kept"))
    machine.hangs = len(machine.asked) + 2
    assert smoke_check(host, baselines=Path("kept")).failed


def test_a_smoke_check_needs_every_baseline_to_be_measurable(
    host: PluginHost, kept: Path, machine: Machine
) -> None:
    file = kept / "made.json"
    file.write_text(file.read_text().replace('"vector', '"gone'))
    with pytest.raises(NotComparableError, match="'made' cannot be measured here"):
        smoke_check(host, baselines=kept)
    assert machine.asked == []
