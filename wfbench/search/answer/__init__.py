"""Which repair order is best, and what it depends on: the statistics of sweeps."""

from __future__ import annotations

from wfbench.search.answer.choices import FEW_CHOICES, FOLLOWED, share_interval
from wfbench.search.answer.find import find_answer
from wfbench.search.answer.records import (
    Answer,
    ChoiceSummary,
    Estimate,
    FollowingCost,
    OrderAnswer,
    PairEffect,
    VarianceShares,
)

__all__ = [
    "FEW_CHOICES",
    "FOLLOWED",
    "Answer",
    "ChoiceSummary",
    "Estimate",
    "FollowingCost",
    "OrderAnswer",
    "PairEffect",
    "VarianceShares",
    "find_answer",
    "share_interval",
]
