"""Make environments known to gymnasium: `gymnasium.make("wfbench/...")`.

Importing wfbench must not import gymnasium, so registration waits until somebody else does. Which
environments there are is read from the entry-point group `wfbench.gymnasium` of this distribution.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

GROUP = "wfbench.gymnasium"


def register_with_gymnasium() -> None:
    """Register now if gymnasium is loaded, else as soon as it is."""
    if "gymnasium.envs.registration" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _AfterGymnasium())


def _register() -> None:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        offered = distribution("wfbench").entry_points.select(group=GROUP)
    except PackageNotFoundError:  # used from a source tree without an installation
        return
    for entry in offered:
        entry.load()()


class _AfterGymnasium:
    """Let the other finders find gymnasium, and register once it has loaded."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            execute = loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register()

            loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
