"""The optional forms: memory in the observation, and the reduced set of actions."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wfbench_cage2 import Cage2Env, Cage2VectorEnv, layout
from wfbench_cage2.lookup import PLACEABLE
from wfbench_cage2.tables import (
    DECOY,
    HISTORY_PERIODS,
    HISTORY_QUIET,
    HOST_ID,
    MEMORY_STEPS,
    MONITOR,
    NUM_HOSTS,
    OBS_SIZE,
    REDUCED_ACTIONS,
    RESTORE,
    Decoy,
    action_name,
)
from wfbench_cage2.workflow import WORKFLOW, form

MEMORY_SIZE = len(PLACEABLE) + 2 * NUM_HOSTS + 1 + MEMORY_STEPS
HISTORY_SIZE = len(PLACEABLE) + 3 * NUM_HOSTS + 2 + HISTORY_QUIET + HISTORY_PERIODS
MACRO = {-1 - action: index for index, action in enumerate(REDUCED_ACTIONS) if action < 0}


def decoy(kind, name):
    return DECOY + NUM_HOSTS * kind + HOST_ID[name]


@pytest.mark.parametrize("memory", [(), ("memory",), ("memory", "history")])
@pytest.mark.parametrize("actions", ["all", "reduced"])
def test_every_form_is_a_sound_env_and_its_batch_plays_the_same(memory, actions):
    options = {"red": "meander", "actions": actions, "episode_steps": 25}
    options |= dict.fromkeys(memory, True)
    env = Cage2Env(**options)
    check_env(env, skip_render_check=True)
    assert (env.observation_space.low == 0).all()
    assert (env.observation_space.high == 1).all()
    batch = Cage2VectorEnv(4, **options)
    obs, _ = env.reset(seed=6)
    rows, _ = batch.reset(seed=[1, 2, 6, 3])
    assert (rows[2] == obs).all()
    rng = np.random.default_rng(0)
    for _ in range(60):
        joint = rng.integers(0, env.action_space.n, 4)
        obs, _, _, ended, _ = env.step(joint[2])
        rows, _, _, _, info = batch.step(joint)
        if ended:
            assert (info["final_obs"][2] == obs).all()
            obs, _ = env.reset()
        assert (rows[2] == obs).all()


def test_memory_only_appends_and_reduced_actions_only_rename():
    plain, rich = Cage2Env(seed=3), Cage2Env(seed=3, memory=True, actions="reduced")
    plain.reset()
    rich.reset()
    for index, action in enumerate(REDUCED_ACTIONS):
        concrete = action if action >= 0 else None
        obs, reward, *_ = rich.step(index)
        if concrete is None:
            concrete = int(rich.fields()["blue_action"])
        expected, expected_reward, *_ = plain.step(concrete)
        assert (obs[:OBS_SIZE] == expected).all()
        assert reward == expected_reward
        assert obs.shape == (OBS_SIZE + MEMORY_SIZE,)


def test_macro_plants_the_decoy_red_prefers_most_until_none_fits():
    env = Cage2Env(red="sleep", actions="reduced", seed=0)
    env.reset()
    server = HOST_ID["Op_Server0"]
    planted = []
    for _ in range(5):
        env.step(MACRO[server])
        planted.append(int(env.fields()["blue_action"]))
    assert [action_name(action) for action in planted[:3]] == [
        "DecoyHarakaSMPT Op_Server0",
        "DecoyTomcat Op_Server0",
        "DecoyApache Op_Server0",
    ]
    assert planted[3:] == [MONITOR, MONITOR]
    env.step(REDUCED_ACTIONS.index(RESTORE + server))
    env.step(MACRO[server])
    assert env.fields()["blue_action"] == decoy(Decoy.HARAKA_SMPT, "Op_Server0")


def test_memory_tells_decoys_alarms_restores_and_early_steps():
    env = Cage2Env(red="bline", memory=True, seed=1)
    obs, _ = env.reset()
    decoys = len(PLACEABLE)
    seen, last, rest = decoys, decoys + NUM_HOSTS, decoys + 2 * NUM_HOSTS
    memory = obs[OBS_SIZE:]
    assert memory.sum() == 1
    assert memory[rest + 1] == 1
    obs, *_ = env.step(decoy(Decoy.TOMCAT, "Op_Server0"))
    memory = obs[OBS_SIZE:]
    assert memory[PLACEABLE.index((HOST_ID["Op_Server0"], Decoy.TOMCAT))] == 1
    assert memory[rest + 2] == 1
    alarms = set()
    for step in range(2, 40):
        obs, *_, info = env.step(0)
        memory = obs[OBS_SIZE:]
        fields = layout.unpack(info["state"])
        if fields["alert"]:
            alarms.add(fields["alert_host"])
            assert memory[last + fields["alert_host"]] == 1
        assert memory[last : last + NUM_HOSTS].sum() == (1 if alarms else 0)
        assert memory[rest + 1 + min(step, 15)] == 1
    assert memory[seen : seen + NUM_HOSTS].any()
    assert memory[rest] == 0
    obs, *_ = env.step(RESTORE + HOST_ID["Op_Server0"])
    memory = obs[OBS_SIZE:]
    assert memory[rest] == 1
    assert not memory[PLACEABLE.index((HOST_ID["Op_Server0"], Decoy.TOMCAT))]


def test_history_tells_the_alarm_before_the_last_and_decoys_of_the_first_alarm():
    env = Cage2Env(red="meander", memory=True, history=True, seed=1, episode_steps=110)
    obs, _ = env.reset()
    decoys, at = len(PLACEABLE), OBS_SIZE + MEMORY_SIZE
    assert obs.shape == (at + HISTORY_SIZE,)
    met = {}
    alarms = [-1, -1]
    for step in range(1, 111):
        obs, *_, info = env.step(decoy(Decoy.TOMCAT, "Enterprise0") if step == 1 else 0)
        fields = layout.unpack(info["state"])
        if fields["alert"]:
            alarms.append(fields["alert_host"])
            standing = {(h, k) for h, k in PLACEABLE if fields["dec"][h] >> k & 1}
            met.setdefault(alarms[-1], {place for place in standing if place[0] == alarms[-1]})
        places = {PLACEABLE[i] for i in np.flatnonzero(obs[at : at + decoys])}
        assert places == set().union(*met.values())
        hosts, again, before = obs[at + decoys :][: 3 * NUM_HOSTS].reshape(3, NUM_HOSTS)
        assert set(np.flatnonzero(hosts)) == set(met)
        assert set(np.flatnonzero(again)) <= {h for h in met if alarms.count(h) > 1}
        assert set(np.flatnonzero(before)) == {alarms[-2]} - {-1}
        assert np.flatnonzero(obs[-10:]).tolist() == [min(step // 10, 9)]
    assert any(met.values())
    assert again.any()
    assert env.reset()[0][at:].sum() == 2


def test_workflow_model_follows_the_actions():
    assert form(memory=False, actions="all")[0].workflow == WORKFLOW
    reduced = form(memory=True, actions="reduced")[0].workflow
    for index, action in enumerate(REDUCED_ACTIONS):
        expected = WORKFLOW.fix_host[action] if action >= 0 else -1
        assert reduced.fix_host[index] == expected
    assert set(reduced.fix_unit) == {-1, 0, 1, 2, 3, 4}


def test_unknown_actions_and_memory_are_refused():
    with pytest.raises(ValueError, match="unknown actions 'few'; choose one of all, reduced"):
        Cage2Env(actions="few")
    with pytest.raises(TypeError, match="memory is 'yes'"):
        Cage2VectorEnv(2, memory="yes")
    with pytest.raises(ValueError, match="history=true needs memory=true"):
        Cage2Env(history=True)
    env = Cage2Env(actions="reduced", seed=0)
    env.reset()
    with pytest.raises(ValueError, match=f"outside 0..{len(REDUCED_ACTIONS) - 1}"):
        env.step(len(REDUCED_ACTIONS))
