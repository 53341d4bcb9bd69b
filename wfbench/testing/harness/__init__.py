"""The processes in which collectors are tested, and what they need there."""

from __future__ import annotations
