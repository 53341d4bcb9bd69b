"""What holds in every state that play can reach, and that the two forms are one environment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench_cage2 import Cage2Env, Cage2VectorEnv, layout
from wfbench_cage2.lookup import OBS_CODE
from wfbench_cage2.tables import FOOTHOLD

REDS = st.sampled_from(["bline", "meander", "sleep", "mixed"])
SEEDS = st.integers(0, 2**64 - 1)
ACTIONS = st.lists(st.integers(0, 144), min_size=1, max_size=60)
LEGAL = {tuple(code) for code in OBS_CODE.reshape(-1, 4).tolist()}
COUNTS = ("sus", "oth", "root", "vsftpd")


def play(env, seed, actions):
    obs, info = env.reset(seed=seed)
    yield obs, 0.0, info
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(action)
        assert not terminated
        yield obs, reward, info
        if truncated:
            env.reset()


@settings(max_examples=60)
@given(red=REDS, seed=SEEDS, actions=ACTIONS)
def test_invariants_of_every_state(red, seed, actions):
    env = Cage2Env(red=red)
    for obs, reward, info in play(env, seed, actions):
        fields = layout.unpack(info["state"])
        for name in COUNTS:
            assert (fields[name] >= 0).all()
        assert fields["root"][FOOTHOLD] >= 1
        assert abs(reward * 10 - round(reward * 10)) < 1e-4
        assert reward <= 0
        assert {tuple(code) for code in obs.reshape(13, 4).tolist()} <= LEGAL
        owned = (fields["sus"] > 0) | (fields["oth"] > 0) | (fields["root"] > 0)
        assert (owned == fields["owned"]).all()
        assert ((fields["root"] > 0) == fields["rooted"]).all()


@settings(max_examples=60)
@given(red=REDS, seed=SEEDS)
def test_reset_observation_is_all_zero(red, seed):
    env = Cage2Env(red=red)
    for _ in range(3):
        obs, _ = env.reset(seed=seed)
        assert not obs.any()
        env.step(0)


@settings(max_examples=60)
@given(
    red=REDS,
    seed=SEEDS,
    actions=ACTIONS,
    position=st.integers(0, 6),
    size=st.integers(7, 20),
    length=st.integers(1, 40),
)
def test_scalar_and_batched_forms_play_the_same_episodes(
    red, seed, actions, position, size, length
):
    env = Cage2Env(red=red, episode_steps=length)
    seeds = [(seed + 1 + i) % 2**64 for i in range(size)]
    seeds[position] = seed
    batch = Cage2VectorEnv(size, red=red, episode_steps=length)
    obs, _ = env.reset(seed=seed)
    rows, _ = batch.reset(seed=seeds)
    assert (rows[position] == obs).all()
    for t, action in enumerate(actions):
        obs, reward, _, truncated, info = env.step(action)
        joint = np.full(size, (action + t) % 145)
        joint[position] = action
        rows, rewards, _, truncations, infos = batch.step(joint)
        assert rewards[position] == np.float32(reward)
        assert truncations[position] == truncated
        for key in ("compromised_units", "compromised_hosts", "ended_session"):
            assert infos[key][position] == info[key]
        if truncated:
            assert (infos["final_obs"][position] == obs).all()
            assert infos["episode_return"][position] == info["episode_return"]
            assert infos["episode_length"][position] == info["episode_length"]
            obs, info = env.reset()
        assert (rows[position] == obs).all()
        assert (infos["state"][position] == info["state"]).all()


@pytest.mark.parametrize("red", ["bline", "meander", "mixed"])
def test_a_batch_of_1_equals_a_batch_of_1000(red):
    actions = np.random.default_rng(3).integers(0, 145, (250, 1000))
    large = Cage2VectorEnv(1000, red=red, seed=9)
    large.reset()
    small = [Cage2VectorEnv(1, red=red, seed=[int(s)]) for s in large.seeds[[0, 1, 499, 999]]]
    for env in small:
        env.reset()
    for row in actions:
        obs, rewards, _, truncated, info = large.step(row)
        for env, i in zip(small, (0, 1, 499, 999), strict=True):
            one = env.step(row[i : i + 1])
            assert (one[0][0] == obs[i]).all()
            assert (one[1][0], one[3][0]) == (rewards[i], truncated[i])
            assert (one[4]["state"][0] == info["state"][i]).all()


def test_an_env_seed_does_not_depend_on_how_many_envs_there_are():
    few, many = Cage2VectorEnv(3, seed=11), Cage2VectorEnv(500, seed=11)
    few.reset()
    many.reset()
    assert (few.seeds == many.seeds[:3]).all()
    assert len(set(many.seeds.tolist())) == 500
    other = Cage2VectorEnv(500, seed=12)
    other.reset()
    assert not set(many.seeds.tolist()) & set(other.seeds.tolist())


def test_the_first_30_steps_are_those_of_a_30_step_episode():
    actions = np.random.default_rng(0).integers(0, 145, (30, 50))
    runs = []
    for length in (30, 50, 100):
        env = Cage2VectorEnv(50, red="meander", episode_steps=length, seed=2)
        env.reset()
        runs.append(np.stack([env.step(row)[1] for row in actions]))
    assert (runs[0] == runs[1]).all()
    assert (runs[1] == runs[2]).all()


def test_blue_ending_a_session_is_reported_exactly_when_sessions_went_away():
    env = Cage2Env(red="meander", seed=4)
    rng = np.random.default_rng(4)
    ended = 0
    for _ in range(20):
        _, info = env.reset()
        for _ in range(100):
            before = layout.unpack(info["state"])
            action = int(rng.choice([15, 132])) + int(rng.integers(13))
            _, _, _, _, info = env.step(action)
            h = (action - 15) % 117
            gone = before["sus"][h]
            if action >= 132:
                gone = gone + before["oth"][h] + before["root"][h] - (h == FOOTHOLD)
            assert info["ended_session"] == (gone > 0)
            assert info["compromised_hosts"] == sum(
                int(b) << i for i, b in enumerate(before["owned"])
            )
            ended += info["ended_session"]
    assert ended > 50
