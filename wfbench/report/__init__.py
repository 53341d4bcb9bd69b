"""Rendering: what the core returns, as tables, lines and JSON. Nothing below this layer prints."""

from __future__ import annotations
