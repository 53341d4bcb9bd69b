from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest

from wfbench.contract import EnvRef, PluginError
from wfbench.orders import parse_order
from wfbench.orders.codes import OrderCode
from wfbench.policies import Notes
from wfbench.testing import check_env
from wfbench_cage2.workflow import form as cage2_form
from wfbench_cyborg.env import CyborgEnv
from wfbench_cyborg.model import HOSTS, OBS_SIZE, REMOVE, RESTORE, SLEEP, workflow
from wfbench_cyborg.options import CyborgOptions
from wfbench_cyborg.plugin import wfbench_envs, wfbench_health_checks

[ENV] = wfbench_envs()
[HEALTH] = wfbench_health_checks()
WORKFLOW = workflow(memory=False, actions="all")
NOTED = {"memory": True, "history": True, "actions": "reduced"}
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


@pytest.mark.parametrize(("memory", "history"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("actions", ["all", "reduced"])
def test_the_workflow_model_is_that_of_cage2(memory, history, actions):
    wanted = cage2_form(memory, actions, history)[0].workflow
    assert workflow(memory, actions, history) == wanted


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("options", [{"red": "bline"}, {"red": "meander", **NOTED}])
def test_the_promises_of_an_env_are_kept(options):
    promises = check_env(ENV, {**options, "episode_steps": 20})
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
        info = env.step(SLEEP)[4]
        assert info["ended_session"] is False
    info = env.step(RESTORE + SERVER)[4]
    assert info["compromised_hosts"] >> SERVER & 1
    assert info["ended_session"] is True
    assert not env.step(RESTORE + USER0)[4]["compromised_hosts"] >> SERVER & 1
    info = env.step(SLEEP)[4]
    assert info["compromised_hosts"] >> USER0 & 1
    assert info["ended_session"] is False


def red_hosts(env: CyborgEnv) -> int:
    sessions = [env.true_state().get(host, {}).get("Sessions", ()) for host in HOSTS]
    held = [any(one["Agent"] == "Red" for one in found) for found in sessions]
    return sum(1 << host for host, taken in enumerate(held) if taken)


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("red", ["bline", "meander"])
def test_masks_are_those_of_the_true_state_at_every_step(red):
    rng = np.random.default_rng(5)
    env = CyborgEnv(red, 60)
    env.reset(seed=8)
    for _ in range(60):
        before = red_hosts(env)
        action = rng.choice([SLEEP, int(rng.integers(145)), REMOVE + 9, RESTORE + 2])
        assert env.step(action)[4]["compromised_hosts"] == before


@pytest.mark.usefixtures("simulator")
def test_without_masks_the_episodes_are_the_same_and_no_true_state_is_built(monkeypatch):
    rng = np.random.default_rng(6)
    actions = [int(action) for action in rng.integers(39, size=50)]

    def episode(env: CyborgEnv) -> list[tuple[bytes, float]]:
        obs, _ = env.reset(seed=2)
        seen = [(obs.tobytes(), 0.0)]
        for action in actions:
            obs, reward, *_, info = env.step(action)
            seen.append((obs.tobytes(), reward))
        assert bool(info) is env._options.masks
        return seen

    wanted = episode(CyborgEnv("meander", 50, **NOTED))
    monkeypatch.setattr("wfbench_cyborg.simulator.Simulator.true_state", None)
    assert episode(CyborgEnv("meander", 50, masks=False, **NOTED)) == wanted


@pytest.mark.usefixtures("simulator")
def test_notes_and_macros_are_those_of_the_plain_environment():
    rng = np.random.default_rng(7)
    noted = CyborgEnv("bline", 40, **NOTED)
    plain = CyborgEnv("bline", 40)
    notes = Notes(noted.workflow.notes)
    obs, _ = noted.reset(seed=5)
    assert np.array_equal(obs, notes.begin(plain.reset(seed=5)[0]))
    for _ in range(40):
        action = int(rng.integers(noted.action_space.n))
        obs, reward, *_ = noted.step(action)
        wanted, same, *_ = plain.step(notes.act(action))
        assert np.array_equal(obs, notes.observe(wanted))
        assert reward == same


@pytest.mark.usefixtures("simulator")
def test_while_blue_is_held_it_sleeps_in_every_episode():
    fix = RESTORE + HOSTS.index("Enterprise2")
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


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("raise ImportError('no such thing')", "no such thing"),
        ("open('version.txt.missing')", "No such file"),
    ],
)
def test_without_a_sound_simulator_one_line_says_how_to_get_it(other_package, code, cause):
    (other_package / "__init__.py").write_text(code)
    with pytest.raises(PluginError, match=cause) as caught:
        CyborgEnv()
    assert "pip install -e cage-challenge-2/CybORG" in str(caught.value)
    assert "\n" not in str(caught.value)
    found = HEALTH.check()
    assert not found.ok
    assert cause in found.message
    assert "pip install -e" in found.remedy


def test_another_release_of_the_simulator_is_named(other_package):
    (other_package / "__init__.py").write_text("class CybORG: ...")
    (other_package / "Agents.py").write_text("class B_lineAgent: ...")
    with pytest.raises(PluginError, match=r"there is no Scenario2\.yaml"):
        CyborgEnv().reset(seed=1)


@pytest.mark.usefixtures("simulator")
def test_the_health_check_says_the_version_and_plays():
    found = HEALTH.check()
    assert found.ok
    assert found.message.startswith("CybORG 2")
    assert "ten steps" in found.message


@pytest.mark.usefixtures("simulator")
def test_a_process_that_imports_the_simulator_prints_nothing():
    code = "from wfbench_cyborg.env import CyborgEnv; CyborgEnv().reset(seed=1)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"red": "mixed"}, "unknown red agent"),
        ({"episode_steps": 0}, "at least 1"),
        ({"actions": "few"}, "unknown actions"),
    ],
)
def test_bad_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        CyborgOptions(**given)
