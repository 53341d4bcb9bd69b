"""`wfbench reproduce` as a user runs it."""

from __future__ import annotations

import json

import pytest

from wfbench.contract import VERDICTS

CLAIMS = """
from wfbench.contract import ClaimSpec, Finding, hookimpl

def wrong(lab):
    return Finding(measured=f"{lab.seed}", interval=None, verdict="not reproduced",
                   why="quick" if lab.quick else "full")

def failing(lab):
    raise OSError("no room")

@hookimpl
def wfbench_claims():
    return [
        ClaimSpec(name=name, summary="s", documented="d", conditions="c",
                  measure=f"{__name__}:{name}")
        for name in ("wrong", "failing")
    ]
"""


@pytest.fixture
def theirs(tmp_path):
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "their_own_claims.py").write_text(CLAIMS)
    return ("--plugins-dir", str(folder))


def test_a_claim_that_is_not_reproduced_is_no_error(wfbench, theirs, tmp_path):
    done = wfbench(*theirs, "reproduce", "wrong", "--quick", "--seed", "7", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not reproduced" in done.stdout
    assert "wrong: not reproduced: quick" in done.stdout
    assert "claim 1/1  wrong: not reproduced" in done.stderr
    assert not [path.name for path in tmp_path.iterdir() if path.name != "claims"]


def test_a_claim_that_cannot_be_measured_ends_with_3_and_the_rest_is_told(
    wfbench, theirs, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    done = wfbench(*theirs, "reproduce", "wrong", "failing", "--to", str(out), "--json")
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/reproduction/1"
    by_name = {claim["name"]: claim for claim in answer["claims"]}
    assert by_name["failing"]["failure"] == "OSError: no room"
    assert by_name["wrong"]["finding"]["verdict"] == "not reproduced"
    assert by_name["wrong"]["finding"]["why"] == "full"
    assert json.loads((out / "reproduction.json").read_text()) == answer
    assert "OSError: no room" in (out / "reproduction.md").read_text()


def test_a_cheap_documented_claim_for_real(wfbench):
    done = wfbench("reproduce", "batch-sizes", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    [claim] = json.loads(done.stdout)["claims"]
    assert claim["finding"]["verdict"] == "reproduced"
    assert claim["finding"]["values"]["ppo-parallel_transitions"] == 2_500
    assert claim["finding"]["verdict"] in VERDICTS
    assert claim["measurements"] == [1]


def test_what_makes_no_sense_is_refused_before_anything_is_measured(wfbench, tmp_path):
    done = wfbench("reproduce", "nothing-of-the-kind")
    assert done.returncode == 2
    assert "there is no claim 'nothing-of-the-kind'; choose from: batch-sizes" in done.stderr
    done = wfbench("reproduce", "batch-sizes", "--to", str(tmp_path / "missing"))
    assert done.returncode == 2
    assert "there is no such directory" in done.stderr


def test_a_claim_is_shown_with_what_it_claims(wfbench):
    done = wfbench("plugins", "show", "shm-over-pipe")
    assert done.returncode == 0
    for text in ("180 to 3,052 transitions/s", "200 envs", "optimisation note, measured"):
        assert text in done.stdout
