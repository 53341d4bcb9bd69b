"""How small a slow-down the gate finds on a real machine: 30 % in one collector of two.

`pytest tests/benchmarks/test_gate.py --benchmark-only` runs it; leave the machine alone meanwhile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.gate.baseline_store import make_baseline
from wfbench.benchmarks.gate.speed_check import SpeedCheck, Threshold, run_check
from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Settings
from wfbench.benchmarks.measure.runner import run_session
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.host.manager import PluginSettings, load_plugins

pytestmark = pytest.mark.timeout(600)

SETTINGS = Settings(rounds=10, seconds=0.3, steps=1)


def test_a_collector_slowed_down_by_30_percent_is_found(benchmark: Any, tmp_path: Path) -> None:
    slow = tmp_path / "slow.txt"
    cases = select_cases(
        load_plugins(PluginSettings()),
        collectors=["sequential", "shm:workers=2"],
        env=f"synthetic:step=0.04,busy=false,slow_workers={slow}",
        n_envs=[4],
        policy="random",
    )
    before = run_session(cases, SETTINGS)
    baseline = make_baseline(before, "then", created="then", machine={})

    def check() -> SpeedCheck:
        slow.write_text("1.3")
        return run_check(baseline, cases, SETTINGS, Threshold(), run_session)

    found = benchmark.pedantic(check, rounds=1, iterations=1)
    [cell] = found.with_verdict(Verdict.REGRESSED)
    assert cell.label == "shm:workers=2"
    changes = [cell.first.change.value, cell.again.change.value]
    benchmark.extra_info["rate now over then"] = [round(change, 2) for change in changes]
    assert changes == pytest.approx([1 / 1.3] * 2, rel=0.1)
