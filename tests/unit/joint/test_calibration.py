"""Whole runs almost never claim a difference between orders where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wfbench.search.history import read_search
from wfbench.search.job import SearchJob

SEEDS = 20
SIZE = {"n_envs": 8, "joint_episodes": 2, "eval_episodes": 6, "stress": 0, "free": 0}


def _answer(run: Path) -> Any:
    findings = read_search(run).findings
    assert findings is not None
    assert findings.answer is not None
    return findings.answer


def test_where_no_order_can_matter_at_most_one_of_twenty_runs_claims_a_difference(
    make_joint: Callable[..., SearchJob], begin: Callable[..., Any], tmp_path: Path
) -> None:
    orders = ";".join(map(str, range(0, 120, 4)))
    env = f"cage2:red=sleep,memory=true,actions=reduced,episode_steps=20,orders={orders}"
    claims = 0
    for seed in range(SEEDS):
        job = make_joint(env=env, trainer="ppo", specialise=0, update_every=20, seed=seed, **SIZE)
        begin(job, f"r{seed}").run()
        answer = _answer(tmp_path / f"r{seed}")
        assert answer.trainings == 2
        assert answer.choices.choices == 0
        assert answer.choices.followed == ()
        claims += answer.verdict == "difference"
    assert claims <= 1
