"""Measure cases in interleaved rounds, each sample in a fresh process with a fresh seed."""

from __future__ import annotations
