"""The hook that offers the documented claims; `claims.toml` lists them."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from wfbench.contract import ClaimSpec, hookimpl


@hookimpl
def wfbench_claims() -> list[ClaimSpec]:
    """Return all documented claims by number."""
    text = (files("wfbench_claims") / "claims.toml").read_text(encoding="utf-8")
    return [
        ClaimSpec(name=name, **{**values, "measure": f"wfbench_claims.{values['measure']}"})
        for name, values in tomllib.loads(text).items()
    ]
