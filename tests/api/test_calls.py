"""Calls of the API: results, errors and progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wfbench
from wfbench.report.document import Report

TINY: dict[str, Any] = {
    "preset": "per-order",
    "env": "synthetic-batch:obs_size=6,num_actions=5,episode_length=10",
    "n_envs": 4,
    "workflows": 2,
    "max_episodes": 2,
    "min_episodes": 1,
    "update_every": 10,
    "searcher": "random",
}


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    wfbench.use_plugins(no_plugins=True)


@pytest.fixture
def run() -> wfbench.Run:
    found = wfbench.run(**TINY, name="r")
    assert isinstance(found, wfbench.Run)
    return found


def test_a_run_is_an_object(run: wfbench.Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.path == Path("results/runs/r")
    assert run.complete
    assert run.name == "r"
    assert len(run.rows()) == 2
    assert run.best is not None
    assert run.best.order == max(run.orders, key=lambda one: one.score).order
    assert run.best.low <= run.best.score <= run.best.high
    assert {"policy.npz", "workflows.csv"} <= set(run.paths)
    assert {row["workflow"] for row in run.updates()} == {0, 1}
    assert run.report_path is not None
    assert json.dumps(run.to_dict())
    assert "<svg" in run._repr_html_()
    assert str(run.path) in repr(run)
    assert capsys.readouterr() == ("", "")


def test_a_run_is_loaded_as_it_was(run: wfbench.Run) -> None:
    again = wfbench.load_run("r")
    assert isinstance(again, wfbench.Run)
    assert again.to_dict() == run.to_dict()
    assert [record.name for record in wfbench.list_runs()] == ["r"]
    assert not wfbench.validate_runs("r").exit_code
    assert wfbench.remove_runs("r") == [Path("results/runs/r")]
    assert len(wfbench.list_runs()) == 0


def test_several_seeds_are_a_matrix() -> None:
    steps: list[wfbench.Progress] = []
    found = wfbench.run(**TINY, seeds=2, progress=steps.append)
    assert isinstance(found, wfbench.Matrix)
    assert len(found) == 2
    assert len(found.rows()) == 4
    assert (steps[-1].done, steps[-1].total) == (4, 4)
    assert {step.value["run"] for step in steps} == {one.name for one in found}


def test_an_interrupted_run_is_finished() -> None:
    def interrupt(step: wfbench.Progress) -> None:
        if step.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        wfbench.run(**TINY, name="r", progress=interrupt)
    assert caught.value.__notes__ == ["resume with: wfbench run --resume results/runs/r"]
    found = wfbench.resume("r")
    assert found.runs[0].complete
    assert len(found.rows()) == 2


def test_the_policy_acts_on_one_observation_and_on_many(run: wfbench.Run) -> None:
    policy = wfbench.load_policy(run, seed=0)
    assert policy.label.env == "synthetic-batch"
    one, many = np.zeros(6, dtype=np.float32), np.zeros((3, 6), dtype=np.float32)
    assert policy.act(one) in range(5)
    assert policy.act(many).shape == (3,)
    greedy = wfbench.load_policy("results/runs/r/policy.npz", greedy=True)
    assert len(set(greedy.act(many))) == 1
    with pytest.raises(wfbench.UsageError, match=r"shape \(7,\)"):
        policy.act(np.zeros(7))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: wfbench.run(n_envs=0), wfbench.UsageError, "n_envs is 0"),
        (lambda: wfbench.run(n_env=1), wfbench.UsageError, "no setting 'n_env'"),
        (lambda: wfbench.run(seed="x"), wfbench.UsageError, "seed: 'x' is not of type int"),
        (lambda: wfbench.run(preset="fast"), wfbench.UsageError, "no preset 'fast'"),
        (lambda: wfbench.run(trainer="none"), wfbench.UsageError, "no trainer 'none'"),
        (lambda: wfbench.bench(n_envs=[]), wfbench.UsageError, "positive numbers"),
        (lambda: wfbench.load_run("none"), wfbench.UsageError, "no run 'none'"),
        (wfbench.check, wfbench.NotComparableError, "no baseline"),
        (lambda: wfbench.compare([], "b"), wfbench.UsageError, "names no run"),
        (wfbench.bench_search, wfbench.UsageError, "--landscape FILE or --synthetic"),
        (lambda: wfbench.plugins("engine"), wfbench.UsageError, "choose from"),
        (wfbench.check_plugin, wfbench.UsageError, "name what to check"),
        (lambda: wfbench.reproduce("none"), wfbench.UsageError, "no claim 'none'"),
        (lambda: wfbench.load_policy("none"), wfbench.UsageError, "no run 'none'"),
    ],
)
def test_errors_are_those_of_the_command_line(call: Any, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_a_bench_has_rows_and_a_report() -> None:
    found = wfbench.bench(
        collector=["sequential", "vector"], env=TINY["env"], n_envs=[2, 3], smoke=True, name="b"
    )
    assert [(row["collector"], row["n_envs"]) for row in found.rows()] == [
        ("sequential", 2),
        ("vector", 2),
        ("sequential", 3),
        ("vector", 3),
    ]
    assert found.exit_code == 0
    assert "sequential" in found.report("md")
    assert found.save("b.csv").read_text().count("\n") > 4
    both = wfbench.make_report(["b"])
    assert isinstance(both.document, Report)
    loaded = wfbench.load_run("b")
    assert loaded.to_dict() == found.to_dict()
    with pytest.raises(wfbench.UsageError, match="suffix"):
        found.save("b.png")


class ShuffledSearcher:
    """Ask for orders by chance."""

    def __init__(self, setup: Any) -> None:
        self._size = setup.num_units
        self._rng = np.random.default_rng(setup.seed)

    def ask(self) -> tuple[int, ...]:
        return tuple(int(unit) for unit in self._rng.permutation(self._size))

    def tell(self, order: Any, outcome: Any) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: Any) -> None:
        pass


def test_a_class_is_checked_and_compared_without_a_package() -> None:
    checked = wfbench.check_plugin(ShuffledSearcher, kind="searcher")
    assert {row["name"] for row in checked.rows()} == {"shuffled"}
    assert checked.broken  # it forgets its state
    assert checked.exit_code == 6
    found = wfbench.bench_search(
        searcher=[ShuffledSearcher, "random"], synthetic="mallows", seeds=3, asks=2
    )
    assert {row["searcher"] for row in found.rows()} == {"shuffled", "random"}


def test_a_baseline_and_its_check_have_rows_as_their_reports_show_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    measured = wfbench.bench(
        collector=["sequential", "vector"], env=TINY["env"], n_envs=2, rounds=4, seconds=0.01
    )
    saved = wfbench.save_baseline("now", measured.path, force=True)
    assert len(saved.rows()) == 2
    checked = wfbench.check("now", busy="judge")
    assert checked.rows()
    assert set(checked.rows()[0]) > {"verdict"}
