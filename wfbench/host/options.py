"""Options of plugins: a descriptor's dataclass, filled from what a user gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, get_type_hints

from wfbench.contract import FactorySpec, UsageError
from wfbench.host import values


@dataclass(frozen=True)
class Option:
    """One option of a plugin, as its dataclass declares it."""

    name: str
    hint: Any
    default: Any
    help: str

    @property
    def type_name(self) -> str:
        """The type in words."""
        return values.describe(self.hint)


def declared_options(spec: FactorySpec) -> tuple[Option, ...]:
    """Return the options of a plugin; raise ValueError if they are declared wrongly."""
    if spec.options is None:
        if spec.positional is not None:
            raise ValueError(f"positional is {spec.positional!r}, but there are no options")
        return ()
    if not (isinstance(spec.options, type) and is_dataclass(spec.options)):
        raise ValueError(f"options must be a dataclass, not {spec.options!r}")
    hints = get_type_hints(spec.options)
    found = tuple(_option(field, hints[field.name]) for field in fields(spec.options) if field.init)
    names = [option.name for option in found]
    if spec.positional is not None and spec.positional not in names:
        raise ValueError(f"positional is {spec.positional!r}, which is not an option")
    return found


def resolve_options(spec: FactorySpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of the plugin with its value: the given one, else the default.

    Text is parsed; other values (from a file) must have the declared type. Raise UsageError for an
    option that the plugin does not declare, or a value that its `__post_init__` refuses.
    """
    known = {option.name: option for option in declared_options(spec)}
    typed = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{spec.kind} {spec.name!r} has no option {name!r}; {_listed(known)}")
        parse = values.from_text if isinstance(value, str) else values.from_data
        try:
            typed[name] = parse(known[name].hint, value)
        except ValueError as error:
            raise UsageError(f"option {spec.name}.{name}: {error}; {_listed(known)}") from error
    if spec.options is None:
        return {}
    try:
        filled = spec.options(**typed)
    except ValueError as error:
        raise UsageError(f"options of {spec.kind} {spec.name!r}: {error}") from error
    return {name: getattr(filled, name) for name in known}


def _option(field: Field[Any], hint: Any) -> Option:
    where, default = f"option {field.name!r}", field.default
    if not values.supported(hint):
        raise ValueError(f"{where} has type {field.type}, not bool, int, float or str")
    if field.default_factory is not MISSING:
        default = field.default_factory()
    if default is MISSING:
        raise ValueError(f"{where} has no default")
    return Option(field.name, hint, default, str(field.metadata.get("help", "")))


def _listed(known: Mapping[str, Option]) -> str:
    if not known:
        return "it has none"
    shown = (f"{o.name}={values.to_text(o.default)} ({o.type_name})" for o in known.values())
    return f"its options are {', '.join(shown)}"
