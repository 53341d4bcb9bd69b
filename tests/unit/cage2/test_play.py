"""Playing blue in the terminal."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from wfbench_cage2.play import parse_action, parse_host
from wfbench_cage2.tables import HOST_ID, NUM_ACTIONS, action_name


def play(typed, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "wfbench_cage2", "play", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def test_a_game_from_first_action_to_last():
    typed = "restore user1\n\nnonsense [red]\nremove ent9\n?\ntomcat ops0\n1\n"
    done = play(typed, "--red", "meander", "--steps", "4", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Restore User1: reward -1.0") == 2
    assert "'nonsense [red]' is not an action" in done.stdout
    assert done.stdout.count("blue, [Sleep]> ") == 1
    assert done.stdout.count("blue, [Restore User1]> ") == 5
    assert "host 'ent9' fits 0 hosts" in done.stdout
    assert "DecoyTomcat Op_Server0: reward" in done.stdout
    assert "Monitor: reward" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("return -")


@pytest.mark.parametrize("typed", ["q\n", ""])
def test_a_game_ends_with_q_or_the_end_of_input(typed):
    done = play(typed)
    assert done.returncode == 0
    assert "return +0.0" in done.stdout


def test_an_unknown_red_agent_is_one_line():
    done = play("", "--red", "purple")
    assert done.returncode == 2
    assert "unknown red agent 'purple'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("0", 0),
        ("144", 144),
        ("Sleep", 0),
        ("monitor", 1),
        ("analyse 0", 2),
        ("Analyze Defender", 2),
        ("remove u4", 27),
        ("restore op_server0", 139),
        ("restore ent0", 133),
        ("DecoyVsftpd oph2", 125),
        ("harakasmpt enterprise0", 55),
    ],
)
def test_actions_by_number_or_name(text, action):
    assert parse_action(text) == action


@pytest.mark.parametrize("text", ["145", "restore", "restore op", "fix user1", "", "sleep user1"])
def test_what_is_not_an_action(text):
    with pytest.raises(ValueError, match=r"host|action"):
        parse_action(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("145", "action 145 is outside 0..144"),
        ("remove 13", "host 13 is outside 0..12"),
        ("remove op", "host 'op' fits 4 hosts; choose one of Op_Host0, "),
        ("remove ent9", "host 'ent9' fits 0 hosts; choose one of Defender, "),
        ("remove", "'remove' is not an action; type ? for help"),
        ("remove user1 now", "'remove user1 now' is not an action"),
    ],
)
def test_what_is_wrong_is_told_with_what_there_is(text, problem):
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        parse_action(text)


def test_every_action_is_read_back_from_its_name():
    for action in range(NUM_ACTIONS):
        assert parse_action(action_name(action)) == parse_action(str(action)) == action
    assert [parse_host(name) for name in HOST_ID] == list(range(13))
    assert (parse_host("0"), parse_host("12")) == (0, 12)


def test_ambiguous_host_names_the_choices():
    with pytest.raises(ValueError, match="Op_Host0, Op_Host1, Op_Host2"):
        parse_host("oph")
