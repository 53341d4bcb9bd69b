"""A collector whose threads share the GIL."""

from __future__ import annotations
