"""Test documented claims by measuring them.

Plugins define the claims and when they count as reproduced; this package measures for all of them.
"""

from __future__ import annotations
