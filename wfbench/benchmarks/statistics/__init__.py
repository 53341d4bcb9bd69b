"""Intervals, tests and verdicts; the same samples always give the same figures."""

from __future__ import annotations
