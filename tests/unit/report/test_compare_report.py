from __future__ import annotations

import dataclasses

from wfbench.bench.comparison import Learned
from wfbench.bench.learning import NonInferiority, TimeToThreshold
from wfbench.bench.statistics import Estimate
from wfbench.report.compare_learning import learned_lines

REACHED = TimeToThreshold(2000.0, 1500.0, None, 5, 1)
NEVER = TimeToThreshold(None, None, None, 0, 6)
LEARNED = Learned(
    name="ppo -> other",
    metric="return",
    steps=3000,
    tasks=2,
    old=Estimate(-20.0, -22.0, -18.0),
    new=Estimate(-15.0),
    improvement=Estimate(0.9, 0.7, 1.0),
    old_steps=NEVER,
    new_steps=REACHED,
    old_seconds=NEVER,
    new_seconds=REACHED,
    same_machine=False,
    margin=1.0,
    non_inferiority=NonInferiority.NON_INFERIOR,
)


def test_what_was_learned_is_told_with_intervals_and_censoring():
    means, margin, steps, seconds = learned_lines(LEARNED)
    assert "interquartile mean over 2 orders -20 (-22 to -18) -> -15;" in means
    assert "with probability 0.9 (0.7 to 1)" in means
    assert margin.endswith("is new at most 1 worse? yes (non-inferior)")
    assert "no median (0 of 6 reached it) -> median 2,000 (1,500 to open; 5 of 6" in steps
    assert seconds.endswith("of different machines, not comparable")


def test_times_are_told_once():
    assert len(list(learned_lines(dataclasses.replace(LEARNED, metric="compliance")))) == 2
