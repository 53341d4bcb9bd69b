"""What a stored policy advises a person who plays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from wfbench.contract import UsageError
from wfbench.orders import format_order
from wfbench.orders.codes import OrderCode
from wfbench.policies import NetworkPolicy
from wfbench_cage2 import Cage2Env
from wfbench_cage2.__main__ import app
from wfbench_cage2.advice import load_advisor
from wfbench_cage2.play import ADVICE_HELP, HELP
from wfbench_cage2.tables import UNIT_NAMES, action_name
from wfbench_cage2.workflow import form

USEHD = (4, 2, 1, 3, 0)


def stored(
    path: Path,
    *,
    memory: bool = True,
    history: bool = False,
    actions: str = "reduced",
    orders: str = "all",
    order: tuple[int, ...] = (),
    **changed: Any,
) -> NetworkPolicy:
    """Write a random policy as a run would, and return it."""
    info, _ = form(memory, actions, history)
    size = info.obs_shape[0] + (10 if orders else 0)
    policy = NetworkPolicy.initial(size, info.num_actions, hidden=(8,), seed=3)
    snapshot = policy.snapshot()
    options = {"memory": memory, "history": history, "actions": actions}
    options |= {"orders": orders, "order_code": "pairs"}
    meta = {
        "schema": "wfbench/policy/1",
        "restore": snapshot.restore,
        "version": snapshot.version,
        "order": list(order),
        "units": list(UNIT_NAMES),
        "env": "cage2",
        "env_options": options,
        "obs_shape": [size],
        "num_actions": info.num_actions,
        **changed,
    }
    meta = {name: value for name, value in meta.items() if value is not None}
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, meta=text, **snapshot.arrays)
    return policy


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.npz"


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("actions", ["all", "reduced"])
@pytest.mark.parametrize("order", [USEHD, USEHD[::-1]])
def test_advice_is_what_the_policy_would_do(
    file: Path,
    memory: bool,  # noqa: FBT001 - a parameter
    actions: str,
    order: tuple[int, ...],
) -> None:
    policy = stored(file, memory=memory, actions=actions).greedy()
    advisor = load_advisor(file, format_order(order, UNIT_NAMES))
    bits = OrderCode("pairs", 5).encode(order)
    person = Cage2Env(memory=memory, episode_steps=40)
    played = Cage2Env(memory=memory, actions=actions, episode_steps=40)
    (seen, info), (obs, _) = person.reset(seed=4), played.reset(seed=4)
    for _ in range(40):
        chosen = policy.act(np.concatenate([obs, bits])[None], np.full(1, 0.5)).actions[0]
        seen, reward, *_, info = person.step(advisor.advise(seen, info["state"]))
        obs, other, *_, truth = played.step(chosen)
        assert reward == other
        assert (info["state"] == truth["state"]).all()
        assert (seen == obs).all()


def test_a_policy_for_one_order_needs_none(file: Path) -> None:
    stored(file, order=USEHD, orders="U>S>E>H>D")
    assert load_advisor(file).order == "U>S>E>H>D"
    assert load_advisor(file, "USEHD").code.tolist() == OrderCode("pairs", 5).encode(USEHD).tolist()
    with pytest.raises(UsageError, match="follows U>S>E>H>D only; leave --order out"):
        load_advisor(file, "SEUHD")
    stored(file, order=USEHD, orders="")
    assert len(load_advisor(file.parent).code) == 0
    stored(file, order=USEHD, orders="", version=None)
    assert load_advisor(file).policy.version == 0


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"restore": "os:system"}, "restored by os:system, which is not wfbench's own code"),
        ({"restore": "wfbench.policies_evil:x"}, "not wfbench's own code"),
        ({"schema": "wfbench/checkpoint/1"}, "is not a policy of wfbench"),
        ({"env_options": {}}, "is not a policy of cage2"),
        ({"num_actions": 7, "env": "other"}, "is a policy of other, which cage2 does not fit"),
        ({}, "follows any order; choose one, such as --order SEUHD"),
    ],
)
def test_a_policy_that_cannot_advise_is_refused(
    file: Path, changed: dict[str, Any], problem: str
) -> None:
    stored(file, **changed)
    order = "SEUHD" if changed else None
    with pytest.raises(UsageError, match=problem):
        load_advisor(file, order)


def test_nothing_is_unpickled(file: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return pytest.fail, ("it was unpickled",)

    np.savez(file, meta=np.array([Trap()], dtype=object))
    with pytest.raises(UsageError, match="is damaged, or not a policy of wfbench"):
        load_advisor(file, "SEUHD")


@pytest.mark.parametrize(("memory", "history"), [(True, False), (True, True), (False, False)])
def test_a_person_can_play_with_advice(
    file: Path,
    memory: bool,  # noqa: FBT001
    history: bool,  # noqa: FBT001
) -> None:
    policy = stored(file, memory=memory, history=history)
    play = ["play", "--advice", str(file), "--order", "USEHD", "--steps", "2", "--seed", "5"]
    done = CliRunner().invoke(app, play, input="a\nsleep\n")
    assert done.exit_code == 0, done.output
    advised = [line for line in done.output.splitlines() if line.startswith("advice: ")]
    assert len(advised) == 2
    assert "It follows U>S>E>H>D." in done.output
    assert f"{advised[0].removeprefix('advice: ')}: reward" in done.output
    assert "Sleep: reward" in done.output
    env = Cage2Env(memory=memory, history=history, seed=5)
    obs, info = env.reset()
    first = load_advisor(file, "USEHD").advise(obs, info["state"])
    assert advised[0] == f"advice: {action_name(first)}"
    assert policy.version == 0


def test_only_rewards_are_coloured_in_a_terminal(file: Path) -> None:
    stored(file)
    play = ["play", "--advice", str(file), "--order", "USEHD", "--steps", "2", "--seed", "5"]
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "120", "NO_COLOR": None}
    plain = CliRunner().invoke(app, play, input="?\na\nsleep\n", env={"COLUMNS": "120"}).output
    shown = CliRunner().invoke(app, play, input="?\na\nsleep\n", env=colours).output
    assert "\x1b[" in shown
    told = [line for line in plain.splitlines() if line.startswith("advice: ")]
    assert len(told) == 2
    for line in [*HELP.splitlines(), f"{ADVICE_HELP} It follows U>S>E>H>D.", *told]:
        assert shown.count(line) == plain.count(line) > 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--order", "USEHD"], "name a policy with --advice"),
        (
            ["--advice", "nowhere.npz", "--order", "USEHD"],
            "cannot read nowhere.npz: No such file",
        ),
    ],
)
def test_play_says_in_one_line_what_is_wrong(words: list[str], problem: str) -> None:
    done = CliRunner().invoke(app, ["play", *words])
    assert done.exit_code == 2
    assert problem in done.output
    assert len(done.output.strip().splitlines()) == 1
