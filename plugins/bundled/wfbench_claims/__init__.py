"""Bundled: the documented claims about the original system and how each is tested.

`claims.toml` lists the claims. Each `measure_*` function measures one in a laboratory and returns a
finding; `judging` defines for all of them what counts as reproduced.
"""

from __future__ import annotations
