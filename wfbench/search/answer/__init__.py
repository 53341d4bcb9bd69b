"""Which repair order is best, and what it depends on: the statistics of sweeps."""

from __future__ import annotations

from wfbench.search.answer.choices import share_interval
from wfbench.search.answer.find import find_answer
from wfbench.search.answer.records import Answer, OrderAnswer, PairEffect

__all__ = ["Answer", "OrderAnswer", "PairEffect", "find_answer", "share_interval"]
