"""What a plugin offers, as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from types import ModuleType
from typing import Any

from wfbench.contract import FactorySpec
from wfbench.host.options import declared_options


def offered(plugin: ModuleType) -> str:
    """Return everything that a plugin declares, an option with its default in each line."""
    hooks = [name for name in vars(plugin) if name.startswith("wfbench_")]
    return "\n".join(
        line for hook in hooks for spec in getattr(plugin, hook)() for line in _of(spec)
    )


def _of(spec: FactorySpec) -> Iterator[str]:
    yield f"[{type(spec).__name__} {spec.name}]"
    for field in fields(spec):
        value: Any = getattr(spec, field.name)
        if field.name == "options":
            value = None if value is None else value.__name__
        many = isinstance(value, (tuple, list))
        for one in value if many else [value]:
            yield f"{field.name}: {sorted(one) if isinstance(one, frozenset) else one}"
    for option in declared_options(spec):
        yield (
            f"option {option.name}: {option.type_name} = {option.default!r}, "
            f"before {option.before!r}, of {option.of!r}; {option.help}"
        )
