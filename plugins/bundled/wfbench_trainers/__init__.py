"""The PPO family: the documented cadences, and a better one."""

from __future__ import annotations
