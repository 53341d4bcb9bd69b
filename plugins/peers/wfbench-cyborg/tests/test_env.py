from __future__ import annotations

import random
import shutil
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

from wfbench.contract import EnvRef, PluginError
from wfbench.orders import parse_order
from wfbench.orders.codes import OrderCode
from wfbench.testing import check_env
from wfbench_cage2.workflow import WORKFLOW as CAGE2
from wfbench_cyborg.env import CyborgEnv
from wfbench_cyborg.model import HOSTS, OBS_SIZE, REMOVE, RESTORE, SLEEP, WORKFLOW
from wfbench_cyborg.options import CyborgOptions
from wfbench_cyborg.plugin import wfbench_envs

[ENV] = wfbench_envs()
USER0, SERVER = HOSTS.index("User0"), HOSTS.index("Op_Server0")
HELD = 12


def steps(form: dict[str, Any], actions: list[int]) -> list[Any]:
    """What each step of episodes of 20 steps in this form returns."""
    options = {"red": "bline", "episode_steps": 20}
    with closing(EnvRef(ENV.name, ENV.factory, options=options, form=form).make()) as env:
        env.reset(seed=4)
        seen = []
        for action in actions:
            seen.append(env.step(action))
            if seen[-1][3]:
                env.reset()
        return seen


def test_the_workflow_model_is_that_of_cage2():
    assert WORKFLOW == CAGE2


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("red", ["bline", "meander", "sleep"])
def test_the_promises_of_an_env_are_kept(red):
    promises = check_env(ENV, {"red": red, "episode_steps": 20})
    assert [promise for promise in promises if promise.kept is False] == []
    applies = [promise.name for promise in promises if promise.kept]
    assert "no global random state is read or changed" in applies
    assert "a workflow model is complete, and step() reports what it needs" in applies
    assert "asked to show orders, it has the same episodes, each with its order" in applies


@pytest.mark.usefixtures("simulator")
def test_environments_side_by_side_do_not_disturb_each_other():
    def episode(others: int) -> list[tuple[bytes, float, int]]:
        env = CyborgEnv("meander", 30)
        neighbours = [CyborgEnv("bline", 30) for _ in range(others)]
        for number, neighbour in enumerate(neighbours):
            neighbour.reset(seed=number)
        env.reset(seed=2**63 + 5)
        seen = []
        for _ in range(30):
            for neighbour in neighbours:
                neighbour.step(0)
                random.random()  # noqa: S311 (what might leak in)
                np.random.random()  # noqa: NPY002 (as above)
            obs, reward, _, _, info = env.step(1)
            seen.append((obs.tobytes(), reward, info["compromised_hosts"]))
        return seen

    alone = episode(0)
    assert alone == episode(2)
    assert len(set(alone)) > 5


@pytest.mark.usefixtures("simulator")
def test_masks_are_of_before_the_action_and_fixes_say_what_they_ended():
    env = CyborgEnv("bline", 100)
    _, info = env.reset(seed=3)
    assert info["compromised_hosts"] == 1 << USER0
    while not info["compromised_hosts"] >> SERVER & 1:
        info = env.step(0)[4]
        assert info["ended_session"] is False
    info = env.step(REMOVE + SERVER)[4]
    assert info == {"compromised_hosts": 1 << USER0 | 1 << SERVER, "ended_session": True}
    info = env.step(RESTORE + USER0)[4]
    assert info["compromised_hosts"] >> USER0 & 1
    assert info["ended_session"] is False


@pytest.mark.usefixtures("simulator")
def test_while_blue_is_held_it_sleeps_in_every_episode():
    fix = REMOVE + SERVER
    held = steps({"hold": str(HELD)}, [fix] * 40)
    slept = steps({}, ([SLEEP] * HELD + [fix] * (20 - HELD)) * 2)
    for (obs, *others), (wanted, *expected) in zip(held, slept, strict=True):
        assert np.array_equal(obs, wanted)
        assert others == expected
    ended = [step[4]["ended_session"] for step in held]
    assert not any(ended[:HELD] + ended[20 : 20 + HELD])
    assert any(ended[HELD:20])
    assert any(ended[20 + HELD :])
    assert any(step[4]["ended_session"] for step in steps({}, [fix] * HELD))


@pytest.mark.usefixtures("simulator")
def test_an_order_is_shown_behind_the_observation_while_blue_is_held():
    code = OrderCode("pairs", len(WORKFLOW.units))
    shown = steps({"orders": "SEUHD", "hold": str(HELD)}, [RESTORE + SERVER] * 20)
    bare = steps({"hold": str(HELD)}, [RESTORE + SERVER] * 20)
    for (obs, *others), (wanted, *expected) in zip(shown, bare, strict=True):
        assert np.array_equal(obs[:OBS_SIZE], wanted)
        assert np.array_equal(obs[OBS_SIZE:], code.encode(parse_order("SEUHD", WORKFLOW.units)))
        assert others == expected


@pytest.mark.usefixtures("simulator")
def test_episodes_are_truncated_and_must_be_reset():
    env = CyborgEnv("sleep", 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    assert env.step(0)[2:4] == (False, False)
    assert env.step(0)[2:4] == (False, True)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset()
    with pytest.raises(ValueError, match=r"outside 0\.\.144"):
        env.step(145)


def test_without_the_simulator_the_message_says_how_to_get_it():
    with pytest.raises(PluginError, match=r"cannot be imported .*cage-challenge-2") as caught:
        CyborgEnv()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Shared/Scenarios/Scenario2.yaml", "there is no Scenario2.yaml"),
        ("Agents/Wrappers/__init__.py", "no ChallengeWrapper"),
    ],
)
def test_another_release_of_the_simulator_is_named(name, message, simulator, tmp_path, monkeypatch):
    shutil.copytree(simulator, tmp_path / "other")
    (tmp_path / "other/CybORG" / name).unlink()
    monkeypatch.syspath_prepend(str(tmp_path / "other"))
    with pytest.raises(PluginError, match=message):
        CyborgEnv().reset(seed=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"red": "mixed"}, "unknown red agent"), ({"episode_steps": 0}, "at least 1")],
)
def test_bad_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        CyborgOptions(**given)
