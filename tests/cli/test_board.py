"""The board ranks policies, rules and published results."""

from __future__ import annotations

import json


def test_rules_and_published_results_are_ranked_with_their_sources(wfbench, tmp_path):
    trained = wfbench(
        *("run", "--preset", "board", "--max-episodes", "1", "--min-episodes", "1"),
        *("--n-envs", "4", "--name", "any", "--out", str(tmp_path / "runs"), "--quiet"),
    )
    assert trained.returncode == 0, trained.stderr
    files = (tmp_path / "board.md", tmp_path / "board.html")
    done = wfbench(
        *("board", "--episodes", "10", "--out", str(tmp_path / "runs"), "--json"),
        *(part for file in files for part in ("--to", str(file))),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["cells"][:2] == ["bline 30", "bline 50"]
    totals = [entry["total"] for entry in found["entries"]]
    assert totals == sorted(totals, reverse=True)
    assert [entry["rank"] for entry in found["entries"]] == list(range(1, len(totals) + 1))
    entries = {entry["name"]: entry for entry in found["entries"]}
    winner = entries["CardiffUni (winner)"]
    assert (round(winner["total"], 2), winner["half_interval"]) == (-54.57, None)
    assert (winner["kind"], winner["knew_red"]) == ("published", "no")
    assert "cage-challenge" in winner["source"]
    ours = entries["any"]
    assert (ours["kind"], ours["knew_red"]) == ("policy", "no")
    assert ours["half_interval"] > 0
    assert entries["reactive"]["kind"] == "reference"
    for file in files:
        text = file.read_text()
        assert "CardiffUni" in text
        assert "reactive" in text


def test_without_a_policy_or_a_published_result_one_line_says_so(wfbench, tmp_path):
    done = wfbench("board", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "has a policy" in done.stderr
    done = wfbench("board", "random", "--env", "synthetic")
    assert done.returncode == 2
    assert "nothing is published" in done.stderr
