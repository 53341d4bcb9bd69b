"""Makes the environment known to gymnasium, without importing anything heavy too early.

Listing plugins imports this package, and must stay fast; so gymnasium is not imported here, but
told about the environment as soon as it is there.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

ENV_ID = "wfbench/Cage2-v0"


def register_envs() -> None:
    """Register `wfbench/Cage2-v0` with gymnasium, once."""
    from gymnasium.envs.registration import register, registry

    if ENV_ID not in registry:
        register(
            id=ENV_ID,
            entry_point="wfbench_cage2.env:Cage2Env",
            vector_entry_point="wfbench_cage2.vector_env:Cage2VectorEnv",
        )


def register_when_imported() -> None:
    """Register now if gymnasium is loaded, else as soon as it is."""
    if "gymnasium.envs.registration" in sys.modules:
        register_envs()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


class _AfterGymnasium(importlib.abc.MetaPathFinder):
    """Finds gymnasium as everybody else does, and registers the environment after it loaded."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register_envs()

            loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
