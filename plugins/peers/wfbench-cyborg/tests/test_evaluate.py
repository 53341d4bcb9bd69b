from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = ["run", "--preset", "per-order", "--name", "ours", "--workflows", "1"]
TRAIN += ["--n-envs", "4", "--max-episodes", "1", "--min-episodes", "1", "--quiet"]
JOINT = ["run", "--env", "cage2:orders=SEUHD;USEHD", "--name", "joint", "--seeds", "1"]
JOINT += ["--n-envs", "4", "--joint-episodes", "1", "--specialise", "0", "--free", "0"]
JOINT += ["--eval-episodes", "2", "--stress", "0", "--quiet"]
JUDGE = ["evaluate", "ours", "--env", "cyborg", "--episodes", "6", "--horizon", "30", "--json"]


def wfbench(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wfbench", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where policies were trained on cage2, one for an order and one for any."""
    folder = tmp_path_factory.mktemp("runs")
    for command in (TRAIN, JOINT):
        done = wfbench(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("collector", ["sequential", "shm"])
def test_a_policy_trained_on_ours_is_judged_in_the_simulator(trained, collector):
    done = wfbench(*JUDGE, "--collector", collector, cwd=trained)
    assert done.returncode == 0, done.stderr
    assert "unmaintained" not in done.stderr
    answer = json.loads(done.stdout)
    assert answer["env"] == "cyborg"
    assert [(cell["red"], cell["episodes"]) for cell in answer["cells"]] == [
        ("bline", 6),
        ("meander", 6),
        ("sleep", 6),
    ]
    assert all(cell["env_return"] < 0 for cell in answer["cells"][:2])


@pytest.mark.usefixtures("simulator")
def test_a_joint_policy_follows_an_order_there_also_after_being_held(trained):
    judge = ["evaluate", "joint", "--env", "cyborg", "--order", "SEUHD", "--red", "meander"]
    judge += ["--episodes", "6", "--horizon", "30", "--stress", "10", "--collector", "sequential"]
    done = wfbench(*judge, "--json", cwd=trained)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["env"], answer["order"]) == ("cyborg", "S>E>U>H>D")
    [cell] = answer["cells"]
    assert cell["episodes"] == 6
    assert cell["env_return"] < 0
    assert cell["stress_return"] < 0


def test_without_the_simulator_one_line_says_how_to_get_it(trained, other_package):
    (other_package / "__init__.py").write_text("raise ImportError('it is not here')")
    done = wfbench(*JUDGE, cwd=trained)
    assert done.returncode == 6
    [line] = done.stderr.strip().splitlines()
    assert "cage-challenge-2" in line
