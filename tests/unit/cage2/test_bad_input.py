"""Wrong input is refused with what was given and what is allowed, before the kernel sees it."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from wfbench.contract import StepArrays
from wfbench_cage2 import Cage2Batch, Cage2Env, Cage2VectorEnv
from wfbench_cage2.options import Cage2Options


@pytest.mark.parametrize("make", [Cage2Env, lambda **kw: Cage2VectorEnv(2, **kw), Cage2Options])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"red": "b_line"},
            "unknown red agent 'b_line'; choose one of bline, meander, sleep, mixed",
        ),
        ({"red": None}, "unknown red agent None"),
        ({"episode_steps": 0}, "episode_steps is 0; it must be an integer of at least 1"),
        ({"episode_steps": 1.5}, "episode_steps is 1.5"),
        ({"red_weights": "bline=1"}, "red_weights only applies to red='mixed'"),
        ({"red": "mixed", "red_weights": "green=1"}, "red_weights names green"),
        ({"red": "mixed", "red_weights": "bline"}, "not of the form name=number"),
        ({"red": "mixed", "red_weights": "bline=-1"}, "must be non-negative"),
        ({"red": "mixed", "red_weights": "bline=nan"}, "must be non-negative"),
        ({"red": "mixed", "red_weights": "bline=0;sleep=0"}, "at least one positive"),
    ],
)
def test_options(make, options, says):
    with pytest.raises(ValueError, match=says.replace("(", r"\(")):
        make(**options)


@pytest.mark.parametrize(
    ("num_envs", "error"), [(0, ValueError), (-3, ValueError), (2.0, TypeError)]
)
def test_num_envs(num_envs, error):
    with pytest.raises(error, match="num_envs is"):
        Cage2VectorEnv(num_envs)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_out_of_range(seed):
    for make in (Cage2Env, lambda seed: Cage2VectorEnv(2, seed=[0, seed])):
        with pytest.raises(ValueError, match="outside 0"):
            make(seed=seed)


def test_wrong_number_of_seeds():
    with pytest.raises(ValueError, match="3 seeds were given for 2 envs"):
        Cage2VectorEnv(2).reset(seed=[1, 2, 3])


@pytest.mark.parametrize("action", [-1, 145, 10**12])
def test_scalar_action_out_of_range(action):
    env = Cage2Env(seed=0)
    env.reset()
    with pytest.raises(ValueError, match=r"is outside 0\.\.144"):
        env.step(action)


@pytest.mark.parametrize("action", [1.0, "1", None, True, np.array([1]), np.float64(3)])
def test_scalar_action_of_the_wrong_type(action):
    env = Cage2Env(seed=0)
    env.reset()
    with pytest.raises(TypeError, match=r"expected one integer in 0\.\.144$"):
        env.step(action)


@pytest.mark.parametrize(
    ("actions", "error", "says"),
    [
        ([0, 145, 0], ValueError, r"action 145 of env 1 is outside 0\.\.144; nothing"),
        ([0, 0, -1], ValueError, "action -1 of env 2 is outside"),
        ([0, 0], ValueError, r"shape \(2,\); expected \(3,\)"),
        ([[0], [0], [0]], ValueError, r"shape \(3, 1\)"),
        ([0.0, 1.0, 2.0], TypeError, "actions are float64; expected integers"),
        ([True, False, True], TypeError, "actions are bool"),
        (np.array([2**64 - 1, 0, 0], dtype=np.uint64), ValueError, "of env 0 is outside"),
    ],
)
def test_vector_actions(actions, error, says):
    env = Cage2VectorEnv(3, seed=0)
    env.reset()
    before = env.step([0, 0, 0])[-1]["state"].copy()
    with pytest.raises(error, match=says):
        env.step(actions)
    env_after = env._batch.state
    assert (env_after == before).all(), "nothing may be stepped"


def test_step_before_reset_and_after_the_end():
    env = Cage2Env(episode_steps=1)
    with pytest.raises(ResetNeeded, match="no episode has been started"):
        env.step(0)
    env.reset()
    env.step(0)
    with pytest.raises(ResetNeeded, match="the episode has ended"):
        env.step(0)
    with pytest.raises(ResetNeeded, match="before step"):
        Cage2VectorEnv(2).step([0, 0])
    with pytest.raises(ResetNeeded, match="before true_state"):
        Cage2Env().true_state()
    with pytest.raises(ResetNeeded, match="before render"):
        Cage2Env(render_mode="ansi").render()


def test_reset_options_and_render_mode_nobody_reads():
    with pytest.raises(ValueError, match="takes no options"):
        Cage2Env().reset(options={"difficulty": 3})
    with pytest.raises(ValueError, match="takes no options"):
        Cage2VectorEnv(2).reset(options={"difficulty": 3})
    with pytest.raises(ValueError, match="unknown render_mode 'rgb_array'"):
        Cage2Env(render_mode="rgb_array")


def arrays(n=4, **changed):
    made = {
        "obs": np.zeros((n, 52), np.uint8),
        "rewards": np.zeros(n, np.float32),
        "terminated": np.zeros(n, np.bool_),
        "truncated": np.zeros(n, np.bool_),
        "final_obs": np.zeros((n, 52), np.uint8),
        "compromised": np.zeros(n, np.uint32),
        "ended_session": np.zeros(n, np.bool_),
    }
    return StepArrays(**made | changed)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rewards": np.zeros(4)}, r"rewards is float64 \(4,\); expected float32 \(4,\)"),
        ({"rewards": np.zeros(3, np.float32)}, r"rewards is float32 \(3,\); expected"),
        ({"obs": np.zeros((4, 51), np.uint8)}, r"obs is uint8 \(4, 51\)"),
        ({"obs": np.zeros((4, 52), np.float32)}, "obs is float32"),
        ({"final_obs": np.zeros((5, 52), np.uint8)}, "final_obs is"),
        ({"compromised": np.zeros(5, np.uint32)}, "compromised is"),
        ({"truncated": np.zeros(2, np.bool_)}, "truncated is"),
        ({"ended_session": [False] * 4}, "ended_session is a list"),
        ({"obs": np.zeros((8, 52), np.uint8)[::2]}, "C-contiguous"),
    ],
)
def test_batch_arrays_of_the_wrong_type_or_shape(changed, says):
    batch = Cage2Batch(4)
    batch.reset(np.arange(4, dtype=np.uint64), np.zeros((4, 52), np.uint8))
    with pytest.raises((TypeError, ValueError), match=says):
        batch.step(np.zeros(4, np.int64), arrays(**changed))


def test_batch_actions_and_seeds_of_the_wrong_shape():
    batch = Cage2Batch(4)
    with pytest.raises(ResetNeeded):
        batch.step(np.zeros(4, np.int64), arrays())
    with pytest.raises(ValueError, match="expected uint64"):
        batch.reset(np.arange(4), np.zeros((4, 52), np.uint8))
    batch.reset(np.arange(4, dtype=np.uint64), np.zeros((4, 52), np.uint8))
    with pytest.raises(ValueError, match=r"actions is int64 \(5,\); expected int64 \(4,\)"):
        batch.step(np.zeros(5, np.int64), arrays())
    with pytest.raises(ValueError, match="action 145 of env 0 is outside"):
        batch.step(np.array([145, 0, 0, 0]), arrays())
    batch.step(np.zeros(4, np.int64), arrays())
    batch.close()
    with pytest.raises(ResetNeeded):
        batch.step(np.zeros(4, np.int64), arrays())
