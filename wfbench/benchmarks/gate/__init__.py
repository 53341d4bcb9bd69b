"""Baselines, calibration, and the check that confirms a slow-down before it fails."""

from __future__ import annotations
