"""Compare two results cell by cell; refuse if the work differs."""

from __future__ import annotations
