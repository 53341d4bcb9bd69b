"""An exported agent in the official evaluation loop, where wfbench cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = ["run", "--preset", "best", "--name", "ours", "--n-envs", "4", "--quiet"]
TRAIN += ["--max-episodes", "1", "--min-episodes", "1"]

LOOP = """
import sys
sys.modules["wfbench"] = None  # not importable
import inspect, json
from gym_notices.notices import notices
notices.clear()
from CybORG import CybORG
from CybORG.Agents import B_lineAgent
from CybORG.Agents.Wrappers import ChallengeWrapper
sys.path.insert(0, "agent")
from agent import BlueAgent
agent = BlueAgent(seed=1)
path = inspect.getfile(CybORG)[:-10] + "/Shared/Scenarios/Scenario2.yaml"
cyborg = ChallengeWrapper(env=CybORG(path, "sim", agents={"Red": B_lineAgent}), agent_name="Blue")
observation, totals = cyborg.reset(), []
space = cyborg.get_action_space("Blue")
for _ in range(3):
    total = 0
    for _ in range(30):
        observation, reward, done, info = cyborg.step(agent.get_action(observation, space))
        total += reward
    agent.end_episode()
    observation = cyborg.reset()
    totals.append(total)
print(json.dumps(totals))
"""


def run(cwd: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("simulator")
def test_an_exported_agent_plays_the_official_evaluation(tmp_path):
    run(tmp_path, "-m", "wfbench", *TRAIN)
    run(tmp_path, "-m", "wfbench", "export", "ours", "--folder", "agent", "--episodes", "2")
    totals = json.loads(run(tmp_path, "-c", LOOP))
    assert len(totals) == 3
    assert all(total < 0 for total in totals)


@pytest.mark.usefixtures("simulator")
def test_returns_in_both_environments_are_compared(tmp_path):
    run(tmp_path, "-m", "wfbench", *TRAIN)
    command = ["verify-transfer", "ours", "--episodes", "20", "--horizon", "30", "--red", "bline"]
    found = json.loads(run(tmp_path, "-m", "wfbench", *command, "--json"))
    assert (found["home"], found["away"]) == ("cage2", "cyborg")
    [cell] = found["cells"]
    assert cell["agrees"]
    assert cell["away_episodes"] == 20
