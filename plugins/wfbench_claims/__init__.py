"""Bundled: the documented claims about the original system and how each is tested.

A module per kind of claim. `measure_*` measures in a laboratory and judges what it measured; what
counts as reproduced is the same for all of them and stands in `judging`.
"""

from __future__ import annotations
