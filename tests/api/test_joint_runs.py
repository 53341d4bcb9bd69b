"""Joint runs as objects: the answer, its orders, the policies, and what joint runs cannot do."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wfbench
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.sweeps import NORMAL, read_sweeps, write_sweeps

ORDERS = ("U>E>O>S>D", "D>S>O>E>U", "S>E>U>D>O")
ENV = "synthetic-batch:obs_size=6,num_actions=5,episode_length=10,orders="
TINY: dict[str, Any] = {
    "env": ENV + ";".join(ORDERS),
    "n_envs": 4,
    "joint_episodes": 2,
    "specialise": 1,
    "eval_episodes": 6,
    "stress": 0,
    "max_episodes": 5,
    "update_every": 10,
    "searcher": "given:119",  # the second of these orders
}


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    wfbench.use_plugins(no_plugins=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wfbench.use_plugins(no_plugins=True)
    found = wfbench.run(**TINY, name="r", out=tmp_path_factory.mktemp("joint"))
    assert isinstance(found, wfbench.Run)
    return found.path


@pytest.fixture
def run(kept: Path) -> wfbench.Run:
    found = wfbench.load_run(kept)
    assert isinstance(found, wfbench.Run)
    return found


@pytest.fixture
def broken(kept: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(kept, tmp_path / "broken"))
    (copy / "sweeps" / "001.npz").unlink()
    return copy


def test_the_orders_of_a_joint_run_are_those_of_its_answer(run: wfbench.Run) -> None:
    answer = run.answer
    assert answer is not None
    assert {one.order for one in run.orders} == set(ORDERS)
    assert [one.score for one in run.orders] == sorted((o.score for o in run.orders), reverse=True)
    assert run.best == run.orders[0]
    assert run.best is not None
    assert run.best.order == run.recorded.written(answer.best_order)
    sweeps = [read_sweeps(run.path / "sweeps" / f"00{i}.npz")[NORMAL] for i in (0, 1)]
    for one in run.orders:
        row = [run.recorded.written(order) for order in sweeps[0].orders].index(one.order)
        choices = sum(int(sweep.choices[row].sum()) for sweep in sweeps)
        assert one.choices == pytest.approx(choices / 12)
        right = sum(int(sweep.right[row].sum()) for sweep in sweeps)
        assert one.compliance == pytest.approx(right / choices)
        assert one.low < one.score < one.high
        assert (one.trainings, one.interval_over) == (2, "trainings")
        assert one.status in {"followed", "not followed", "untested"}
        assert one.may_be_best is not None


def test_the_conclusion_is_in_the_run_its_values_and_its_report(
    run: wfbench.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.conclusion
    assert run.findings is not None
    assert run.conclusion == run.findings.sentences()
    run.show()
    shown = capsys.readouterr().out
    tables, _, end = shown.partition("Conclusion\n")
    page = html.unescape(run.report("html"))
    for sentence in run.conclusion:
        assert shown.count(sentence) == 1
        assert sentence in end
        assert sentence not in tables
        assert sentence in page
    order = run.recorded.written(run.findings.specialised[0][0].order).replace(">", "")
    assert shown.splitlines()[-2:] == [
        f"any order: wfbench evaluate {run.path} --order {order}",
        f"next: wfbench evaluate {run.path / 'policies' / order}.npz",
    ]
    assert "note: next" not in shown


def test_the_values_of_a_joint_run_hold_the_answer(run: wfbench.Run) -> None:
    values = json.loads(json.dumps(run.to_dict()))
    assert run.schema == "run/3"
    [found] = values["runs"]
    assert found["training"] == "joint"
    assert found["conclusion"] == list(run.conclusion)
    assert [one["order"] for one in found["orders"]] == [one.order for one in run.orders]
    assert found["best"]["order"] == found["answer"]["best_order"] == run.orders[0].order
    answer = found["answer"]
    assert answer["orders"][0]["order"] == answer["best_order"]
    assert set(answer["best"]) <= set(ORDERS)
    assert {answer["effects"][0][end] for end in ("first", "second")} <= set(run.recorded.units)
    assert [one["order"] for one in found["specialised"]] == [ORDERS[1]]
    assert "all" not in json.dumps(found["orders"])


def test_a_joint_run_has_policies_for_any_order_and_for_one(run: wfbench.Run) -> None:
    obs = np.zeros((3, 6), dtype=np.uint8)
    assert run.policy.label.stage == "joint"
    assert run.policy.obs_shape == (16,)
    told = wfbench.load_policy(run, order="DEOSU", seed=1)
    assert told.obs_shape == (6,)
    assert len(told.act(obs)) == 3
    [(order, special)] = run.policies.items()
    assert order == ORDERS[1]
    assert special.obs_shape == (6,)
    assert special.label.env_options["orders"] == order
    assert len(special.act(obs)) == 3
    with pytest.raises(UsageError, match="follows D>S>O>E>U only"):
        wfbench.load_policy(run.path / "policies" / "DSOEU.npz", order="DEOSU")


def test_before_its_first_training_a_joint_run_has_no_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(step: wfbench.Progress) -> None:
        if step.value["event"] == "workflow-started":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wfbench.run(**TINY, name="cut", progress=interrupt)
    run = wfbench.load_run("cut")
    assert isinstance(run, wfbench.Run)
    assert (run.best, run.answer, run.orders, run.conclusion) == (None, None, (), ())
    assert run.policies == {}
    assert run.summary()["answer"] is None
    run.show()
    shown = capsys.readouterr().out
    assert "no joint training has ended yet" in shown
    assert shown.splitlines()[-1] == f"next: wfbench run --resume {run.path}"
    assert "no joint training has ended yet" in next(iter(wfbench.list_runs())).says


def test_progress_counts_every_training_of_a_joint_run() -> None:
    steps: list[wfbench.Progress] = []
    wfbench.run(**{**TINY, "free": 0}, progress=steps.append)
    assert (steps[-1].done, steps[-1].total) == (3, 3)
    said = " ".join(step.text for step in steps)
    assert "workflow-finished joint 2 of 2" in said
    assert "workflow-started specialised D>S>O>E>U" in said


def test_a_matrix_of_joint_runs_has_a_row_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = {**TINY, "specialise": 0, "free": 0}
    found = wfbench.run(**tiny, collector=["vector", "sequential"], name="m")
    assert isinstance(found, wfbench.Matrix)
    assert found.best is not None
    assert found.best.order in ORDERS
    found.show()
    shown = capsys.readouterr().out
    assert "mean return" in shown
    assert "verdict on orders" in shown
    for run in found:
        assert run.answer is not None
        # A narrow terminal shows a wide table in parts, each with the name in front.
        parts = [line for line in shown.splitlines() if line.startswith(run.recorded.combination)]
        row = " ".join(parts)
        assert f"{run.answer.mean_return:.2f}" in row
        assert run.answer.verdict in row
    assert "How good is each joint policy?" in found.report("html")
    assert [one["best"]["order"] for one in found.to_dict()["runs"]]


def test_runs_are_compared_by_their_joint_policies(
    run: wfbench.Run, kept: Path, tmp_path: Path
) -> None:
    better = Path(shutil.copytree(kept, tmp_path / "better"))
    for number in (0, 1):
        file = better / "sweeps" / f"00{number}.npz"
        sweeps = read_sweeps(file)
        more = dataclasses.replace(sweeps[NORMAL], env_return=sweeps[NORMAL].env_return + 5)
        write_sweeps(file, {**sweeps, NORMAL: more})
    found = wfbench.compare(kept, better)
    first = {cell["metric"]: cell for cell in found.to_dict()["cells"]}
    returns = first["mean return over orders"]
    assert returns["effect"]["value"] == pytest.approx(5)
    assert returns["samples"] == [2, 2]
    assert run.answer is not None
    assert returns["old"]["value"] == pytest.approx(run.answer.mean_return)
    assert first["right choices"]["effect"]["value"] == 0
    assert "paired by seed" in found.to_dict()["basis"]
    assert any("these very policies differ by +5.00" in n for n in found.to_dict()["notes"])
    with pytest.raises(UsageError, match="--steps does not apply to joint runs"):
        wfbench.compare(kept, better, steps=10)


def test_policies_evaluated_under_other_orders_are_not_compared(kept: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(kept, tmp_path / "other"))
    for file in sorted((other / "sweeps").glob("00[01].npz")):
        sweeps = read_sweeps(file)
        orders = tuple(order[::-1] for order in sweeps[NORMAL].orders)
        write_sweeps(file, {**sweeps, NORMAL: dataclasses.replace(sweeps[NORMAL], orders=orders)})
    with pytest.raises(NotComparableError, match="were evaluated under other orders"):
        wfbench.compare(kept, other)


@pytest.mark.parametrize("sides", [("new",), ("old",), ("old", "new")])
def test_right_choices_are_compared_only_where_all_trainings_had_a_choice(
    kept: Path, tmp_path: Path, sides: tuple[str, ...]
) -> None:
    found = {side: Path(shutil.copytree(kept, tmp_path / side)) for side in ("old", "new")}
    for side in sides:
        file = found[side] / "sweeps" / "001.npz"
        sweeps = read_sweeps(file)
        none = np.zeros_like(sweeps[NORMAL].choices)
        without = dataclasses.replace(sweeps[NORMAL], choices=none, right=none)
        write_sweeps(file, {**sweeps, NORMAL: without})
    cells = wfbench.compare(found["old"], found["new"]).to_dict()["cells"]
    assert "right choices" not in [cell["metric"] for cell in cells]


def cut(copy: Path, episodes: int) -> Path:
    """Leave so many episodes in the evaluations of a run's joint policies."""
    for file in sorted((copy / "sweeps").glob("00[01].npz")):
        sweeps = read_sweeps(file)
        one = sweeps[NORMAL]
        short = {n: getattr(one, n)[:, :episodes] for n in ("env_return", "choices", "right")}
        short["env_return"] = short["env_return"] + len(str(copy)) % 7
        write_sweeps(file, {**sweeps, NORMAL: dataclasses.replace(one, **short)})
    return copy


@pytest.mark.parametrize(
    ("old", "new", "paired", "told"),
    [(6, 6, True, True), (2, 2, True, True), (1, 1, True, False), (2, 3, False, False)],
)
def test_equal_episodes_of_two_policies_tell_how_far_they_lie_apart(
    kept: Path, tmp_path: Path, old: int, new: int, *, paired: bool, told: bool
) -> None:
    sides = [
        cut(Path(shutil.copytree(kept, tmp_path / name)), episodes)
        for name, episodes in (("a", old), ("bb", new))
    ]
    found = wfbench.compare(*sides).to_dict()
    assert (found["old"], found["new"]) == ([str(sides[0])], [str(sides[1])])
    ending = "paired by seed" if paired else "not paired, since seeds or episodes differ"
    assert found["basis"] == f"joint trainings, mean over all orders, new - old, {ending}"
    assert any("these very policies" in note for note in found["notes"]) == told
    assert not any("not finished" in note for note in found["notes"])


def test_each_seed_counts_once_on_a_side_and_a_run_may_be_going_on(
    kept: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(kept, tmp_path / "copy"))
    with pytest.raises(UsageError, match=r"and another run of its side have seed 0; a side may"):
        wfbench.compare([kept, copy], kept)
    events = copy / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:-1]))
    notes = wfbench.compare(kept, copy).to_dict()["notes"]
    assert f"{copy} is not finished; only complete trainings are used" in notes
    assert not any(str(kept) in note for note in notes)


def test_joint_runs_of_other_seeds_are_compared_without_pairs(kept: Path) -> None:
    other = wfbench.run(**{**TINY, "specialise": 0, "free": 0}, seed=5, seeds=3)
    found = wfbench.compare(kept, other.path).to_dict()
    assert "not paired" in found["basis"]
    assert found["cells"][0]["samples"] == [2, 3]
    effect = found["cells"][0]["effect"]
    assert effect["low"] < effect["value"] < effect["high"]


def test_what_needs_one_training_per_order_refuses_joint_runs(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(NotComparableError, match="--training per-order --inherit none"):
        wfbench.landscape(kept, to=tmp_path / "l.json")
    with pytest.raises(NotComparableError, match="trained one policy for all orders"):
        wfbench.save_baseline("x", kept)


def test_a_joint_run_and_a_search_over_orders_are_not_compared(kept: Path) -> None:
    each = {"n_envs": 4, "workflows": 1, "max_episodes": 5, "update_every": 10}
    other = wfbench.run(**each, training="per-order", env=TINY["env"], searcher="random", name="o")
    with pytest.raises(NotComparableError, match="trained one policy for all orders"):
        wfbench.compare(kept, other.path)
    assert isinstance(other, wfbench.Run)
    assert (other.answer, other.findings, other.conclusion, other.policies) == (None, None, (), {})
    assert other.best is not None
    assert other.best.may_be_best is None
    assert other.summary()["training"] == "per-order"


def test_a_run_without_one_of_its_evaluations_is_broken(broken: Path) -> None:
    [record] = wfbench.list_runs(out=broken.parent)
    assert record.status == "broken"
    assert "001.npz" in record.says
    checked = wfbench.validate_runs(broken)
    assert checked.exit_code == 3
    run = wfbench.load_run(broken)
    assert isinstance(run, wfbench.Run)
    with pytest.raises(UsageError, match=r"cannot read .*001\.npz"):
        _ = run.answer
    assert run.policy.label.stage == "joint"


def test_a_specialised_policy_can_be_told_other_orders(kept: Path) -> None:
    special = kept / "policies" / "DSOEU.npz"
    found = wfbench.evaluate(special, orders="DEOSU,DSOEU", episodes=3, stress=0)
    assert "joint policy" not in found.report("md")
    assert {row["order"] for row in found.rows()} == {"D>E>O>S>U", "D>S>O>E>U"}
    alone = wfbench.evaluate(special, episodes=3, stress=0)
    assert alone.to_dict()["order"] == ORDERS[1]
    assert alone.to_dict()["joint"] is False


def test_the_evaluation_of_a_joint_policy_says_so_and_is_kept(kept: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(kept, tmp_path / "copy"))
    found = wfbench.evaluate(copy, orders="all", episodes=2, stress=0, save=True)
    page = found.report("html")
    assert f"Evaluation of joint policy {copy} by order" in page
    assert "Does behaviour follow the order?" in page
    run = wfbench.load_run(copy)
    assert "Does behaviour follow the order?" in run.report("md")
    assert "by order" in run.report("md")
    given = wfbench.evaluate(copy, order="DEOSU", episodes=2, stress=0)
    title = f"Evaluation of joint policy {copy} in synthetic-batch, given D>E>O>S>U"
    assert title in html.unescape(given.report("html"))
    assert math.isfinite(given.rows()[0]["env_return"])
