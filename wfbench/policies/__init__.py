"""Policies that any process can evaluate: plain arrays, no learning library.

Collectors and trainers of any plugin may use it. Compiled code is loaded when a `NetworkPolicy`
first acts.
"""

from __future__ import annotations

from .chance import RandomPolicy, restore_random
from .network import NetworkPolicy, restore_network
from .notes import Notes

__all__ = ["NetworkPolicy", "Notes", "RandomPolicy", "restore_network", "restore_random"]
