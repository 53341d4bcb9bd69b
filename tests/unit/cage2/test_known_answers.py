"""What the environment and its command accept, refuse and show, in answers written down."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from wfbench_cage2 import Cage2Env, Cage2VectorEnv
from wfbench_cage2.__main__ import app
from wfbench_cage2.lookup import DECOY_PORTS, ENABLED, NEXT_HOP, TOP_EXPLOIT
from wfbench_cage2.options import check_options
from wfbench_cage2.references import Reactive
from wfbench_cage2.replay import TraceError, replay_file
from wfbench_cage2.tables import HOST_ID, OBS_SIZE, action_name
from wfbench_cage2.workflow import form


@pytest.fixture
def trace(data):
    """One recorded episode."""
    with np.load(data / "traces/sleep__rrar.npz") as archive:
        return {name: archive[name][:1].copy() for name in archive.files}


@pytest.mark.parametrize("seed", [True, np.True_, 1.5, "1"])
def test_a_seed_is_an_integer(seed):
    for make in (Cage2Env, lambda seed: Cage2VectorEnv(2, seed=seed)):
        with pytest.raises(TypeError, match="it must be an integer in 0"):
            make(seed=seed)


@pytest.mark.parametrize("kind", [int, np.int16, np.uint64])
def test_one_integer_of_any_kind_is_a_seed_of_all(kind):
    vector = Cage2VectorEnv(3, seed=7)
    vector.reset()
    wanted = vector.seeds.tolist()
    vector.reset(seed=kind(7))
    assert vector.seeds.tolist() == wanted
    assert len(set(wanted)) == 3


@pytest.mark.parametrize("kind", [int, np.int16, np.uint64, np.array])
def test_one_integer_of_any_kind_is_an_action(kind):
    env = Cage2Env(seed=1)
    env.reset()
    env.step(kind(22))
    assert env.fields()["blue_action"] == 22


@pytest.mark.parametrize(
    ("red", "weights", "shares"),
    [
        ("bline", None, (1.0, 1.0, 1.0)),
        ("meander", "", (0.0, 1.0, 1.0)),
        ("sleep", {}, (0.0, 0.0, 1.0)),
        ("mixed", "bline=1;sleep=3", (0.25, 0.25, 1.0)),
        ("mixed", " meander = 0 ;; bline = 0.5 ", (1.0, 1.0, 1.0)),
        ("mixed", {"meander": 2, "sleep": 2}, (0.0, 0.5, 1.0)),
    ],
)
def test_red_agents_have_their_shares_of_the_episodes(red, weights, shares):
    assert check_options(red, weights, 1, "all") == shares


@pytest.mark.parametrize("weights", ["bline=-1;meander=2", "bline=inf", "sleep=0"])
def test_weights_of_red_agents_are_finite_and_none_is_negative(weights):
    with pytest.raises(ValueError, match="must be non-negative numbers, at least one positive"):
        check_options("mixed", weights, 1, "all")


def test_a_lookup_has_a_row_for_every_set():
    assert len(ENABLED) == len(TOP_EXPLOIT) == len(DECOY_PORTS) == 2**8
    users = [HOST_ID[f"User{number}"] for number in range(1, 5)]
    assert [NEXT_HOP[user] for user in users] == [HOST_ID["Enterprise1"]] * 2 + [
        HOST_ID["Enterprise0"]
    ] * 2


@pytest.mark.parametrize("actions", ["all", "reduced"])
def test_the_first_action_is_that_of_who_does_nothing(actions):
    assert form(memory=False, actions=actions)[0].workflow.idle == 0


def test_reactive_looks_at_every_host_but_the_foothold():
    draws = 0.5 + (np.arange(12) + 0.5) / 24
    looks = Reactive(()).act(np.zeros((12, OBS_SIZE), np.uint8), draws).actions
    assert [action_name(action).removeprefix("Analyse ") for action in looks] == [
        *("Op_Server0", "Enterprise2", "Enterprise1", "Enterprise0"),
        *("Op_Host0", "Op_Host1", "Op_Host2", "User1", "User2", "User3", "User4", "Defender"),
    ]


def test_a_vector_shows_a_table_of_every_env_if_asked_to():
    with pytest.raises(ValueError, match="unknown render_mode 'human'; only 'ansi' is known here"):
        Cage2VectorEnv(2, render_mode="human")
    silent, shown = Cage2VectorEnv(2, seed=1), Cage2VectorEnv(2, seed=1, render_mode="ansi")
    for env in (silent, shown):
        env.reset()
        env.step([0, 1])
    assert silent.render() is None
    first, second = shown.render()
    assert first.startswith("step 1, red agent bline")
    assert "blue: Sleep (Unknown)" in first
    assert "blue: Monitor" in second


def spoilt(folder, trace, **changes):
    path = folder / "sleep__spoilt.npz"
    np.savez(path, **trace | changes)
    return path


def test_one_recorded_episode_is_enough(tmp_path, trace):
    result = replay_file(spoilt(tmp_path, trace))
    assert (result.episodes, result.steps, result.mismatches) == (1, 100, 0)


@pytest.mark.parametrize("shape", [(0, 100), (1, 0), (100,), (1, 100, 1)])
def test_a_trace_has_episodes_and_steps(tmp_path, trace, shape):
    path = spoilt(tmp_path, trace, blue_action=np.zeros(shape, np.int64))
    with pytest.raises(TraceError, match=r"blue_action has shape .* not .episodes, steps."):
        replay_file(path)


def test_a_trace_has_numbers(tmp_path, trace):
    path = spoilt(tmp_path, trace, reward=trace["reward"].astype(str))
    with pytest.raises(TraceError, match=r"reward is .* expected numbers of shape \(1, 100\)"):
        replay_file(path)


def test_nothing_of_a_trace_is_unpickled(tmp_path, trace):
    path = spoilt(tmp_path, trace, reward=np.array([{}], dtype=object))
    with pytest.raises(TraceError, match="not a readable npz file"):
        replay_file(path)


def test_the_first_observation_is_that_before_step_0(tmp_path, trace):
    trace["obs_reset"][0, 5] = 1
    trace["reward"][0, 0] -= 1
    result = replay_file(spoilt(tmp_path, trace))
    assert result.mismatches == 2
    assert result.first[1:4] == (0, -1, "obs_reset")


def told(*arguments, **colours):
    done = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "60", **colours})
    return done.exit_code, done.output


def test_a_replay_shows_totals_and_long_lines_whole(tmp_path, trace):
    trace["obs_reset"][0, 5] = 1
    np.savez(tmp_path / "sleep__[red].npz", **trace)
    code, output = told("replay", tmp_path)
    assert code == 1
    *table, first, total = output.splitlines()
    assert [cell.strip() for cell in table[-2].split("│")[1:-1]] == ["total", "1", "100", "1"]
    assert first.startswith("first mismatch: sleep__[red].npz: episode 0, step -1, field obs_reset")
    assert first.endswith("0]")
    assert total == "1 mismatches in 100 steps of 1 episodes (1 files)"


def test_a_replay_in_a_terminal_has_no_coloured_numbers(tmp_path, trace):
    path = spoilt(tmp_path, trace)
    code, output = told("replay", path, FORCE_COLOR="1", TERM="xterm", NO_COLOR=None)
    assert code == 0
    assert output.splitlines()[-1] == "0 mismatches in 100 steps of 1 episodes (1 files)"


def test_the_command_explains_itself_without_arguments():
    code, output = told()
    assert code in {0, 2}  # another one in other versions of click
    assert "replay traces, play blue" in " ".join(output.split())
    assert "completion" not in told("--help")[1]


def test_a_game_has_30_steps_unless_told_otherwise():
    done = CliRunner().invoke(app, ["play", "--red", "sleep"], input="sleep\n" + "\n" * 40)
    assert done.exit_code == 0
    assert done.output.count("Sleep: reward +0.0") == 30
