"""Compliance: whether a policy's fixes follow the order, and the reward for it.

Computed from a rollout's actions and masks alone. Nothing compiled is imported before a `Shaper` is
made.
"""

from __future__ import annotations

from .chance import chance_level
from .definitions import BESIDE, DEFAULT, DEFINITIONS, Definition, find_definition
from .shaper import NO_FIX, Episodes, InvariantError, Shaped, Shaper
from .suspicion import constant_warning

__all__ = [
    "BESIDE",
    "DEFAULT",
    "DEFINITIONS",
    "NO_FIX",
    "Definition",
    "Episodes",
    "InvariantError",
    "Shaped",
    "Shaper",
    "chance_level",
    "constant_warning",
    "find_definition",
]
