"""Benchmarks: measure, compare, gate and reproduce."""

from __future__ import annotations
