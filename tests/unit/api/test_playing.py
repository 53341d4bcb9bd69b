"""Policies that are loaded, evaluated, exported and ranked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wfbench
from wfbench.api import evaluating, publishing
from wfbench.api.results import Progress
from wfbench.contract import UsageError
from wfbench.orders.codes import OrderCode
from wfbench.policies import NetworkPolicy
from wfbench.search.evaluation import EvaluationCell, Setup
from wfbench.store.policy_file import PolicyLabel, StoredPolicy, write_policy

ENV = "synthetic-batch:obs_size=6,num_actions=6,episode_length=10"
UNITS = ("user", "enterprise", "operational", "server", "defender")
PLAIN = {"obs_size": 6, "num_actions": 6, "episode_length": 10}
JOINT = {**PLAIN, "orders": "all", "order_code": "pairs"}
OWN = (4, 0, 1, 2, 3)


def stored(name: str, order: tuple[int, ...], options: dict[str, Any]) -> Path:
    """Write a policy of the synthetic environment and return its file."""
    size = 16 if "orders" in options else 6
    policy = NetworkPolicy.initial(size, 6, seed=4, hidden=(8,))
    label = PolicyLabel(
        order=order,
        units=UNITS,
        env="synthetic-batch",
        env_options=options,
        obs_shape=(size,),
        num_actions=6,
        definition="choices@1",
        trainer="ppo",
        run="r",
        workflow=0,
        score=None,
        compliance=None,
    )
    write_policy(Path(name), StoredPolicy(policy.snapshot(), label))
    return Path(name)


def test_a_policy_takes_one_observation_or_a_batch() -> None:
    policy = wfbench.load_policy(stored("own.npz", OWN, PLAIN), seed=1, greedy=True)
    assert policy.obs_shape == (6,)
    one, many = np.ones(6), np.ones((6, 6))
    assert type(policy.act(one)) is int
    assert policy.act(many).tolist() == [policy.act(one)] * 6
    assert policy.act(many[:1]).shape == (1,)
    for wrong in ((7,), (2, 7), (6, 1), (2, 3, 6), ()):
        with pytest.raises(UsageError, match="the observation has shape"):
            policy.act(np.ones(wrong))
    assert repr(policy).startswith("LoadedPolicy(defender>user>")
    drawn = [wfbench.load_policy("own.npz", seed=2).act(np.ones((40, 6))) for _ in range(2)]
    assert drawn[0].tolist() == drawn[1].tolist()
    assert len(set(drawn[0])) > 1


def test_a_joint_policy_is_told_its_order() -> None:
    file = stored("joint.npz", (), JOINT)
    whole = wfbench.load_policy(file, greedy=True)
    told = wfbench.load_policy(file, order="DUEOS", greedy=True)
    assert (whole.obs_shape, told.obs_shape) == ((16,), (6,))
    assert repr(whole).startswith("LoadedPolicy(any order in synthetic-batch")
    rows = np.random.default_rng(1).random((30, 6))
    code = OrderCode("pairs", 5).encode(OWN)
    joined = np.concatenate([rows, np.broadcast_to(code, (30, 10))], axis=1)
    assert told.act(rows).tolist() == whole.act(joined).tolist()
    assert told.act(rows[0]) == whole.act(joined[0])
    special = stored("special.npz", OWN, JOINT)
    assert wfbench.load_policy(special).obs_shape == (6,)
    assert wfbench.load_policy(special, order="DUEOS").obs_shape == (6,)
    for other in (special, stored("own.npz", OWN, PLAIN)):
        with pytest.raises(UsageError, match="the policy follows D>U>E>O>S only"):
            wfbench.load_policy(other, order="UDEOS")
    assert wfbench.load_policy("own.npz", order="DUEOS").obs_shape == (6,)
    assert wfbench.load_policy(stored("any.npz", (), PLAIN), order="DUEOS").order is None


def test_a_run_without_a_policy_cannot_be_loaded(runs: Path) -> None:
    with pytest.raises(UsageError, match=r"b1 has no policy\.npz"):
        wfbench.load_policy("b1", out=runs)
    stored("made/b1/policy.npz", OWN, PLAIN)
    assert wfbench.load_policy("b1", out=runs).obs_shape == (6,)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"orders": "all", "red": "bline"}, "--orders needs neither"),
        ({"orders": "all", "horizon": 3}, "--orders needs neither"),
        ({"orders": "all", "order": "DUEOS"}, "--orders needs neither"),
        ({"returns_only": True, "orders": "all"}, "--returns-only judges no compliance"),
        ({"returns_only": True, "definition": "choices"}, "--returns-only judges no compliance"),
        ({"save": True}, "--save keeps the result with a run, but own.npz is not of one"),
        ({"definition": "nope"}, "nope"),
    ],
)
def test_what_an_evaluation_cannot_use_is_refused(asked: dict[str, Any], says: str) -> None:
    stored("own.npz", OWN, PLAIN)
    with pytest.raises(UsageError, match=says):
        wfbench.evaluate("own.npz", **asked)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was to be played; nothing is."""
    calls: list[tuple[Any, ...]] = []

    def evaluate(subject: Any, setup: Setup, order: Any, cells: Any) -> list[EvaluationCell]:
        calls.append((subject, setup, order, list(cells)))
        return []

    def crossed(*given: Any) -> list[Any]:
        calls.append(given)
        return []

    monkeypatch.setattr(evaluating.evaluation, "evaluate", evaluate)
    for name in ("sweep_orders", "cross_evaluate"):
        monkeypatch.setattr(evaluating.evaluation, name, crossed)
    return calls


def test_a_policy_is_judged_by_its_own_order_or_the_one_that_is_named(played: Any) -> None:
    own, joint = stored("own.npz", OWN, PLAIN), stored("joint.npz", (), JOINT)
    found = wfbench.evaluate(own)
    assert (found.order, found.joint, found.definition) == ("D>U>E>O>S", False, "choices@1")
    assert (found.seed, found.units) == (0, UNITS)
    _, setup, order, _ = played.pop()
    assert (setup.episodes, setup.stress, setup.judged, order) == (1000, 15, True, OWN)
    assert wfbench.evaluate(own, order="UDEOS", returns_only=True).order == "U>D>E>O>S"
    assert played.pop()[1].judged is False
    several = wfbench.evaluate(joint, episodes=7)
    assert (several.order, several.joint) == ("the order in force", True)
    subject, setup, order, _ = played.pop()
    assert (subject.env.options["orders"], setup.episodes, order) == ("all", 7, ())
    assert wfbench.evaluate(joint, order="UDEOS").order == "U>D>E>O>S"
    subject, _, order, _ = played.pop()
    assert "U>D>E>O>S" in subject.env.options["orders"]
    assert order == (0, 4, 1, 2, 3)
    wfbench.evaluate("random")
    assert played.pop()[2] == (0, 1, 2, 3, 4)


def test_orders_are_given_in_turn_and_judged_by_all(played: Any) -> None:
    joint = stored("joint.npz", (), JOINT)
    special = stored("special.npz", OWN, JOINT)
    assert wfbench.evaluate(joint, orders="all").joint is True
    assert wfbench.evaluate(special, orders="UDEOS,DUEOS", episodes=3).joint is False
    (_, setup, every), (_, few, two) = played
    assert (setup.episodes, len(every)) == (200, 120)
    assert (few.episodes, two) == (3, ((0, 4, 1, 2, 3), OWN))
    played.clear()
    own = stored("own.npz", OWN, PLAIN)
    found = wfbench.evaluate(own, orders="UDEOS")
    assert (found.own, len(found.judges)) == (OWN, 120)
    assert played.pop()[2] == [(0, 4, 1, 2, 3)]
    wfbench.evaluate(own, orders="all")
    assert len(played.pop()[2]) == 120


def test_red_agents_and_horizons_are_those_that_were_named(played: Any) -> None:
    wfbench.evaluate("sleep")
    cells = played.pop()[3]
    wanted = [(red, steps) for red in evaluating.REDS for steps in evaluating.HORIZONS]
    assert cells == wanted
    wfbench.evaluate("sleep", red="sleep", horizon=30)
    assert played.pop()[3] == [("sleep", 30)]
    wfbench.verify_transfer("sleep", env="cage2", collector="vector")
    assert played.pop()[3] == wanted
    played.clear()
    wfbench.verify_transfer(
        "sleep", env="cage2", collector="vector", red=["bline"], horizon=[50], order="USEHD"
    )
    (_, home, order, cells), (_, away, same, _) = played
    assert cells == [("bline", 50)]
    assert (home.episodes, away.episodes) == (4000, 250)
    assert (home.judged, order, same) == (False, order, order)


def test_a_policy_is_moved_with_the_order_it_is_to_follow(played: Any) -> None:
    joint, own = stored("joint.npz", (), JOINT), stored("own.npz", OWN, PLAIN)
    where: dict[str, Any] = {"collector": "vector", "episodes": 2, "home_episodes": 2}
    orders = f"{ENV},orders=all,order_code=pairs"
    wfbench.verify_transfer(joint, env=orders, order="UDEOS", **where)
    wfbench.verify_transfer(joint, env=orders, **where)
    wfbench.verify_transfer(own, env=ENV, order="UDEOS", **where)
    wfbench.verify_transfer(own, env=ENV, **where)
    given = [(order, subject.env.options.get("orders")) for subject, _, order, _ in played]
    told = (0, 4, 1, 2, 3)
    assert [order for order, _ in given] == [told, told, (), (), told, told, OWN, OWN]
    assert "U>D>E>O>S" in str(given[0][1])
    assert given[2][1] == "all"
    for few in ({"episodes": 1}, {"home_episodes": 1}):
        with pytest.raises(UsageError, match="needs at least 2 episodes"):
            wfbench.verify_transfer(own, **few)


def test_an_export_is_of_one_order_and_goes_into_an_empty_folder(
    played: Any, tmp_path: Path
) -> None:
    own, joint = stored("own.npz", OWN, PLAIN), stored("joint.npz", (), JOINT)
    assert wfbench.export(own).folder == "own-agent"
    _, setup, order, _ = played.pop()
    assert (setup.episodes, setup.judged, order) == (1000, False, OWN)
    deep = tmp_path / "a" / "b"
    found = wfbench.export(own, folder=deep, episodes=2, order="DUEOS")
    assert (found.said["features"], found.said["definition"]) == (6, "choices@1")
    (tmp_path / "empty").mkdir()
    told = wfbench.export(joint, folder=tmp_path / "empty", order="UDEOS", greedy=True)
    assert (told.said["order"], told.said["features"]) == ("U>D>E>O>S", 6)
    assert told.said["greedy"] is True
    (tmp_path / "file").write_text("")
    for taken in (deep, tmp_path / "file"):
        with pytest.raises(UsageError, match="exists and is not an empty folder"):
            wfbench.export(own, folder=taken)
    for given, says in (
        ({"order": "UDEOS"}, "follows D>U>E>O>S only"),
        ({"episodes": 1}, "an interval needs at least 2"),
        ({"to": "x"}, "there is no format 'x'"),
    ):
        with pytest.raises(UsageError, match=says):
            wfbench.export(own, **given)
    with pytest.raises(UsageError, match="follows any order; choose one"):
        wfbench.export(joint)


def test_a_board_plays_policies_and_rules_where_it_is(
    monkeypatch: pytest.MonkeyPatch, instead: Any, runs: Path
) -> None:
    found: list[tuple[str, str | None, bool]] = []
    entries: list[dict[str, Any]] = []

    def find(name: str, _: Path, env: str | None, __: None, *, greedy: bool, **___: Any) -> Any:
        found.append((name, env, greedy))
        return SimpleNamespace(name=name)

    def entry(subject: Any, _: Any, **given: Any) -> Any:
        entries.append({"name": subject.name, **given})
        return subject

    monkeypatch.setattr(publishing, "find_played", find)
    monkeypatch.setattr(publishing.boards, "played_entry", entry)
    instead(publishing.boards, "ranked", ())
    instead(publishing.boards, "trained_against", "yes")
    told: list[Progress] = []
    wfbench.board("mine", greedy=True, episodes=2, progress=told.append)
    rules = [one["name"] for one in entries[1:]]
    assert rules
    where = [("mine", "cage2", True), ("mine", None, False)]
    assert found == where + [(name, "cage2", False) for name in rules]
    kinds = [(one["kind"], one["knew_red"], bool(one["about"])) for one in entries]
    assert kinds == [("policy", "yes", False)] + [("reference", "no", True)] * len(rules)
    assert [(one.done, one.total) for one in told] == [
        (done, len(entries)) for done in range(len(entries))
    ]
    found.clear()
    (runs / "b2" / "policy.npz").write_bytes(b"")
    wfbench.board(out=runs)
    assert found[0] == ("b2", "cage2", False)
    assert [name for name, *_ in found].count("b1") == 0
    with pytest.raises(UsageError, match="no run in none has a policy"):
        wfbench.board(out="none")
    with pytest.raises(UsageError, match="an interval needs at least 2"):
        wfbench.board("mine", episodes=1)


def test_a_board_numbers_its_entries_from_one() -> None:
    entry = publishing.boards.BoardEntry("a", "policy", (1.0,), (0.5,), "no", "")
    found = publishing.BoardResult("cage2", 2, 0, False, (("bline", 30),), (entry, entry))  # noqa: FBT003
    assert [row["rank"] for row in found.rows()] == [1, 2]
