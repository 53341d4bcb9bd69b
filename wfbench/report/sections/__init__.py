"""From what is on disk to sections of a report."""

from __future__ import annotations
