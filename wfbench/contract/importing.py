"""Objects by import path: how descriptors name code without importing it.

A class of a script or notebook has no import path that another process could follow. It is
registered as `local:NAME`; whoever starts a process that needs it sends `ship_local(path)` along,
and the process calls `install` on what it received.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .errors import PluginError

_LOCAL = "local"
_registered: dict[str, Any] = {}


@dataclass(frozen=True)
class Shipment:
    """A registered object in a form that can be sent to another process."""

    name: str
    pickled: bytes

    def install(self) -> None:
        """Register the object in this process, so that `load_object` finds it."""
        _registered[self.name] = pickle.loads(self.pickled)  # noqa: S301 (from our own parent)


def register_local(name: str, found: Any) -> str:
    """Register an object of this process and return its import path, `local:NAME`."""
    _registered[name] = found
    return f"{_LOCAL}:{name}"


def ship_local(path: str) -> Shipment | None:
    """Pack what another process needs to load `path`; None if it can import it by itself."""
    module_name, _, name = path.partition(":")
    if module_name != _LOCAL:
        return None
    import cloudpickle

    found = load_object(path)
    module = sys.modules.get(getattr(found, "__module__", ""))
    by_value = module is not None and not _importable(module.__name__)
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return Shipment(name, cloudpickle.dumps(found))
    except Exception as error:
        raise PluginError(f"{name} cannot be sent to another process: {error}") from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)


def load_object(path: str) -> Any:
    """Return the object that an import path `package.module:name` stands for."""
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise PluginError(f"import path {path!r} is not of the form 'package.module:name'")
    if module_name == _LOCAL:
        if name not in _registered:
            raise PluginError(f"{name!r} was defined in another process and is not known here")
        return _registered[name]
    found: Any = import_module(module_name)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None and module != "__main__"
    except (ImportError, ValueError):
        return False
