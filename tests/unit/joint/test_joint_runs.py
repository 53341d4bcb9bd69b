"""Whole joint runs in this process: what is trained, kept, counted and survived."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.contract import UsageError, load_object
from wfbench.orders import all_orders
from wfbench.search.engine import run_searches
from wfbench.search.history import read_search
from wfbench.search.job import SearchJob
from wfbench.search.planning import stored_config
from wfbench.search.search import Search
from wfbench.settings.config import RunConfig
from wfbench.store.events import WorkflowFinished, WorkflowStarted
from wfbench.store.policy_file import read_checkpoint, read_policy
from wfbench.store.run import RunStore, checkpoint_path
from wfbench.store.sweeps import read_sweeps, write_sweeps
from wfbench.store.validation import validate_run

Make = Callable[..., SearchJob]
Begin = Callable[..., Any]
ENV = "synthetic-batch:obs_size=6,num_actions=6,episode_length=10"


def events(run: Path) -> list[dict[str, Any]]:
    lines = (run / "events.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


def problems(run: Path) -> list[tuple[str, str | None]]:
    found = validate_run(run, lambda _: None)
    return [(one.file, one.problem) for one in found if one.problem is not None]


@pytest.fixture(scope="module")
def finished(make_joint: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished joint run of two joint trainings, a free one and two specialised ones."""
    path = tmp_path_factory.mktemp("finished") / "r"
    job = make_joint(specialise=2)
    store = RunStore.create(path, stored_config(job, "r", "now", smoke=False))
    with closing(store):
        run_searches([Search(job, store)])
    return path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run."""
    return Path(shutil.copytree(finished, tmp_path / "finished"))


def test_what_is_trained_and_kept(run: Path) -> None:
    search = read_search(run)
    done = search.finished()
    assert [one.stage for one in done] == ["joint", "joint", "free", "specialised", "specialised"]
    assert [one.order for one in done[:3]] == [()] * 3
    assert {one.inherited_from for one in done[3:]} == {0}
    begun = search.events(WorkflowStarted)
    assert len({one.budget_steps for one in begun[3:]}) == 1
    assert [one.best for one in done] == [True, False, False, False, False]
    policy = read_policy(run / "policy.npz").label
    assert (policy.order, policy.workflow, policy.env_options["orders"]) == ((), 0, "all")
    named = {search.written(one.order).replace(">", ""): one for one in done[3:]}
    assert sorted(file.stem for file in (run / "policies").iterdir()) == sorted(named)
    for name, one in named.items():
        label = read_policy(run / "policies" / f"{name}.npz").label
        assert (label.order, label.workflow, label.stage) == (one.order, one.workflow, one.stage)
        assert label.env_options["orders"] == search.written(one.order)
    assert problems(run) == []
    checked = {one.file for one in validate_run(run, lambda _: None)}
    assert {f"sweeps/{number:03d}.npz" for number in range(5)} <= checked
    assert {f"policies/{name}.npz" for name in named} <= checked


def test_sweeps_have_every_order_or_the_specialised_one(run: Path) -> None:
    for one in read_search(run).finished():
        sweeps = read_sweeps(run / "sweeps" / f"{one.workflow:03d}.npz")
        assert list(sweeps) == ["normal", "stress"]
        wanted = (one.order,) if one.order else all_orders()
        assert all(sweep.orders == wanted for sweep in sweeps.values())
        returns = sweeps["normal"].env_return
        assert one.score == pytest.approx(returns.mean())
        assert one.score_episodes == returns.size
        assert one.evaluation_steps == sum(10 * s.env_return.size for s in sweeps.values())
        right, choices = sweeps["normal"].right.sum(), sweeps["normal"].choices.sum()
        if choices >= 50:
            assert one.compliance == pytest.approx(right / choices)


@pytest.mark.parametrize(
    ("keep", "killed_before"),
    [
        (1, "policy.npz"),
        (1, "sweeps"),
        (2, "sweeps"),
        (3, "nothing"),
        (4, "policies"),
        (4, "sweeps"),
    ],
)
def test_a_run_that_stopped_after_any_training_goes_on_as_if_it_had_not(
    run: Path, make_joint: Make, begin: Begin, tmp_path: Path, keep: int, killed_before: str
) -> None:
    """What is written after a training has ended may be missing, the log apart."""
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    lines = (copy / "events.jsonl").read_bytes().splitlines(keepends=True)
    ends = [i for i, line in enumerate(lines) if b'"event":"workflow-finished"' in line]
    (copy / "events.jsonl").write_bytes(b"".join(lines[: ends[keep - 1] + 2]))
    if killed_before == "policies":
        shutil.rmtree(copy / "policies")
    if killed_before == "policy.npz":
        (copy / "policy.npz").unlink()
    if killed_before == "sweeps":  # of the training that had just begun
        (copy / "sweeps" / f"{keep:03d}.npz").unlink()
    begin(make_joint(specialise=2), "copy").run()
    _expect_same(run, copy)


def _expect_same(one: Path, other: Path) -> None:
    assert events(one) == events(other)
    files = [p.relative_to(one) for p in sorted(one.rglob("*.npz"))]
    assert files == [p.relative_to(other) for p in sorted(other.rglob("*.npz"))]
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


def test_a_joint_training_that_breaks_down_does_not_stop_the_run(
    make_joint: Make, begin: Begin, tmp_path: Path
) -> None:
    begin(make_joint(trainer="breaking")).run()
    run = tmp_path / "r"
    search = read_search(run)
    assert [one.reason for one in search.finished()] == ["not-finite"] * 4
    assert not (run / "sweeps").exists()
    findings = search.findings
    assert findings is not None
    assert findings.answer is None
    assert findings.sentences() == ()
    assert problems(run) == []


def test_a_run_whose_first_training_broke_down_uses_the_second_and_can_be_resumed(
    make_joint: Make, begin: Begin, tmp_path: Path
) -> None:
    job = make_joint(trainer="breaks-first")
    begin(job).run()
    run = tmp_path / "r"
    done = read_search(run).finished()
    assert [one.sound for one in done] == [False, True, True, True]
    assert done[-1].inherited_from == 1
    assert [one.best for one in done] == [False, True, False, False]
    assert problems(run) == []
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    lines = (copy / "events.jsonl").read_bytes().splitlines(keepends=True)
    ends = [i for i, line in enumerate(lines) if b'"event":"workflow-finished"' in line]
    (copy / "events.jsonl").write_bytes(b"".join(lines[: ends[2] + 1]))
    begin(job, "copy").run()
    _expect_same(run, copy)


def test_only_named_orders_are_trained_and_swept(
    make_joint: Make, begin: Begin, tmp_path: Path
) -> None:
    begin(make_joint(env=f"{ENV},orders=3;50;119")).run()
    done = read_search(tmp_path / "r").finished()
    wanted = tuple(all_orders()[index] for index in (3, 50, 119))
    for one in done[:3]:
        sweep = read_sweeps(tmp_path / "r" / "sweeps" / f"{one.workflow:03d}.npz")["normal"]
        assert sweep.orders == wanted
    findings = read_search(tmp_path / "r").findings
    assert findings is not None
    assert findings.answer is not None
    assert {one.order for one in findings.answer.orders} == set(wanted)


@pytest.mark.parametrize("collector", ["old", "sequential", "shm:workers=2"])
def test_any_collector_trains_the_same_joint_policy(
    run: Path, make_joint: Make, begin: Begin, tmp_path: Path, collector: str
) -> None:
    begin(make_joint(specialise=2, collector=collector), "other").run()
    for one in sorted((run / "sweeps").iterdir()):
        assert one.read_bytes() == (tmp_path / "other" / "sweeps" / one.name).read_bytes()
    for number in range(5):
        found = [read_checkpoint(checkpoint_path(r, number)) for r in (run, tmp_path / "other")]
        for name, array in found[0].trainer.items():
            assert np.array_equal(array, found[1].trainer[name]), name


def test_shaping_falls_over_a_joint_training_and_has_a_share_of_its_own_in_others(
    make_joint: Make, begin: Begin
) -> None:
    watching = {"trainer": "watching", "seeds": 1, "free": 1, "stress": 0, "max_episodes": 4}
    added = []
    for name, end, special in (("whole", 1.0, 1.0), ("falling", 0.25, 0.5)):
        job = make_joint(**watching, joint_episodes=4, lambda_end=end, lambda_special=special)
        seen = load_object(job.trainer.spec.factory).added
        seen.clear()
        begin(job, name).run()
        added.append(list(seen))
    shares = [
        np.abs(less).sum() / np.abs(whole).sum() if whole.any() or less.any() else 0.0
        for whole, less in zip(*added, strict=True)
    ]
    joint, free, specialised = shares[:3], shares[3:6], shares[6:]
    assert joint == pytest.approx([1.0, 1 - 0.75 / 4, 1 - 0.75 / 2])
    assert (free, specialised) == ([0.0] * 3, pytest.approx([0.5] * 3))


def test_an_asynchronous_collector_trains_jointly_too(
    make_joint: Make, begin: Begin, tmp_path: Path
) -> None:
    env = ENV.replace("synthetic-batch", "synthetic")
    begin(make_joint(collector="async:workers=2", env=env, specialise=0, free=0)).run()
    done = read_search(tmp_path / "r").finished()
    assert [one.stage for one in done] == ["joint", "joint"]
    assert all(np.isfinite(one.score) for one in done)


def test_a_trainer_from_before_this_change_learns_to_follow_orders(
    make_joint: Make, begin: Begin, tmp_path: Path
) -> None:
    """It sees the order in the observation; nobody told it that there are any."""
    settings = {"n_envs": 50, "joint_episodes": 60, "free": 1, "stress": 0, "specialise": 0}
    begin(make_joint(**settings, seeds=1, eval_episodes=4)).run()
    joint, free = read_search(tmp_path / "r").finished()
    assert joint.compliance > free.compliance + 0.1


@pytest.mark.parametrize("limit", [1000, 1100, 2000])
def test_the_budget_of_episodes_holds(
    make_joint: Make, begin: Begin, tmp_path: Path, limit: int
) -> None:
    # A joint training costs up to 12 episodes and 480 to evaluate it.
    begin(make_joint(specialise=2, total_episodes=limit)).run()
    search = read_search(tmp_path / "r")
    assert search.env_steps <= limit * 10
    assert search.end is not None
    stages = [one.stage for one in search.finished()]
    if limit == 2000:
        assert (search.end.reason, len(stages)) == ("workflows", 5)
    else:
        assert (search.end.reason, stages) == ("total-episodes", ["joint", "joint"])


def test_specialised_trainings_use_what_joint_ones_left_over(
    make_joint: Make, begin: Begin, tmp_path: Path
) -> None:
    """Evaluating one order costs much less than evaluating all."""
    begin(make_joint(specialise=2, total_episodes=1520)).run()
    done = read_search(tmp_path / "r").finished()
    assert [one.stage for one in done] == ["joint", "joint", "free", "specialised", "specialised"]
    assert read_search(tmp_path / "r").env_steps <= 15_200


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda file: file.unlink(), "cannot read"),
        (lambda file: file.write_bytes(file.read_bytes()[:200]), "is damaged"),
        (lambda file: file.write_bytes(b""), "is damaged"),
        (lambda file: write_sweeps(file, {}), "has no sweep 'normal'"),
        (lambda file: _change(file, "normal/right", None), "lacks arrays"),
        (lambda file: _change(file, "normal/right", np.zeros((3, 1))), "differ in shape"),
        (lambda file: _change(file, "stress/met", None), "does not say which choices"),
        (lambda file: _change(file, "normal/orders", np.zeros((120, 5), int)), "is not an order"),
    ],
)
def test_a_damaged_sweep_is_named(run: Path, spoil: Any, said: str) -> None:
    spoil(run / "sweeps" / "001.npz")
    [(file, problem)] = problems(run)
    assert file == "sweeps/001.npz"
    assert problem is not None
    assert said in problem


def _change(file: Path, name: str, value: Any) -> None:
    with np.load(file) as loaded:
        arrays = {key: loaded[key] for key in loaded.files if key != name}
    if value is not None:
        arrays[name] = value
    np.savez(file, **arrays)


def test_specialised_policies_and_torn_files_are_checked(run: Path) -> None:
    one, other = sorted((run / "policies").iterdir())
    kept = other.read_bytes()
    shutil.copy(one, other)
    (run / "sweeps" / ".001.npz.5.tmp").write_bytes(b"half")
    found = dict(problems(run))
    assert set(found) == {f"policies/{other.name}", "sweeps/.001.npz.5.tmp"}
    assert "is the policy of workflow" in str(found[f"policies/{other.name}"])
    other.write_bytes(kept[:100])
    assert "is damaged" in str(dict(problems(run))[f"policies/{other.name}"])


def test_a_finished_event_says_what_was_known_by_then(run: Path) -> None:
    said = [one.says for one in read_search(run).finished()]
    assert "First answer, from one training" in said[0][0]
    assert all(said)
    assert any("specialised order" in line for line in said[-1])
    findings = read_search(run).findings
    assert findings is not None
    assert findings.sentences() == said[-1]
    assert isinstance(read_search(run).entries[-2].event, WorkflowFinished)


def test_the_default_minimum_of_episodes_does_not_limit_a_joint_run() -> None:
    assert RunConfig(max_episodes=2).max_episodes == 2
    with pytest.raises(UsageError, match="max_episodes is 2; it must not be below min_episodes"):
        RunConfig(max_episodes=2, training="per-order")
    with pytest.raises(UsageError, match="max_episodes is 0; it must be at least 1"):
        RunConfig(max_episodes=0)
