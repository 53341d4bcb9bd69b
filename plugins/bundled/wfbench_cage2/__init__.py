"""CAGE Challenge 2, exact and compiled.

`Cage2Env` is a `gymnasium.Env`, `Cage2VectorEnv` a `gymnasium.vector.VectorEnv`, both registered
as `wfbench/Cage2-v0`. Importing this package is cheap: numba is loaded when one of its names is
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import wfbench as _wfbench  # noqa: F401 (registers the environment with gymnasium)

from .registration import ENV_ID

if TYPE_CHECKING:
    from .batch import Cage2Batch
    from .env import Cage2Env
    from .vector_env import Cage2VectorEnv

__all__ = ["ENV_ID", "Cage2Batch", "Cage2Env", "Cage2VectorEnv"]

_HOMES = {"Cage2Batch": ".batch", "Cage2Env": ".env", "Cage2VectorEnv": ".vector_env"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
