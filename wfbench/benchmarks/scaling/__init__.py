"""How collectors grow: which points to measure, curves fitted to them, and predictions."""

from __future__ import annotations
