"""Compliance: whether a policy's fixes follow the order, and the reward for it.

Everything is computed from a rollout's actions and masks. Compiled code is imported when the first
`Shaper` is made.
"""

from __future__ import annotations

from wfbench.orders.compliance.chance import chance_level
from wfbench.orders.compliance.definitions import (
    DEFAULT,
    DEFINITIONS,
    MIN_CHOICES,
    SECONDARY,
    Definition,
    find_definition,
)
from wfbench.orders.compliance.shaper import NO_FIX, Episodes, InvariantError, Shaped, Shaper
from wfbench.orders.compliance.suspicion import constant_warning

__all__ = [
    "DEFAULT",
    "DEFINITIONS",
    "MIN_CHOICES",
    "NO_FIX",
    "SECONDARY",
    "Definition",
    "Episodes",
    "InvariantError",
    "Shaped",
    "Shaper",
    "chance_level",
    "constant_warning",
    "find_definition",
]
