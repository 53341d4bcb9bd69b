"""Objects by import path: how descriptors name code without importing it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import PluginError


def load_object(path: str) -> Any:
    """The object an import path `package.module:name` stands for."""
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise PluginError(f"import path {path!r} is not of the form 'package.module:name'")
    found: Any = import_module(module_name)
    for part in name.split("."):
        found = getattr(found, part)
    return found
