"""Frozen records from JSON values, refusing whatever was not written by us."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from wfbench.contract import UsageError

Record = TypeVar("Record")


def decode(kind: type[Record], value: Any, where: str) -> Record:
    """The dataclass that `dataclasses.asdict` made these JSON values of.

    A missing field has its default if there is one, so that records can grow; an unknown field and
    a value of another type are a usage error that names the place.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is {_short(value)}, not an object")
    declared = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in value:
        if name not in declared:
            raise UsageError(f"{where} has {name!r}, which this version does not know")
    hints = get_type_hints(kind)
    found = {}
    for name, field in declared.items():
        if name in value:
            found[name] = _value(hints[name], value[name], f"{where}, {name}")
        elif _required(field):
            raise UsageError(f"{where} has no {name!r}")
    return kind(**found)


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _optional(arguments, value, where)
    if origin is tuple:
        return _tuple(arguments, value, where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments[1], value, where)
    if is_dataclass(hint):
        return decode(hint, value, where)  # type: ignore[arg-type]
    return _plain(hint, value, where)


def _plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float and type(value) is int:
        return float(value)
    if hint is Path and type(value) is str:
        return Path(value)
    if hint is not Any and type(value) is not hint:
        raise UsageError(f"{where} is {_short(value)}, not of type {hint.__name__}")
    return value


def _optional(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and NoneType in kinds:
        return None
    [kind] = [kind for kind in kinds if kind is not NoneType]
    return _value(kind, value, where)


def _tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{where} is {_short(value)}, not a list")
    wanted = kinds[:1] * len(value) if kinds[1:] == (Ellipsis,) else kinds
    if len(wanted) != len(value):
        raise UsageError(f"{where} has {len(value)} values, not {len(wanted)}")
    parts = enumerate(zip(wanted, value, strict=True))
    return tuple(_value(kind, part, f"{where}[{i}]") for i, (kind, part) in parts)


def _mapping(kind: Any, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is {_short(value)}, not an object")
    return {str(name): _value(kind, part, f"{where}.{name}") for name, part in value.items()}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
