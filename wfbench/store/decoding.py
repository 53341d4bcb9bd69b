"""Decode JSON values into frozen dataclasses, strictly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from wfbench.contract import UsageError

Record = TypeVar("Record")
_type_hints = cache(get_type_hints)


def decode(kind: type[Record], value: Any, where: str) -> Record:
    """Return the dataclass instance that `dataclasses.asdict` turned into these JSON values.

    A missing field gets its default if it has one, so that records can grow. An unknown field or
    a value of another type is a usage error that starts with `where`.
    """
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is {_short(value)}, not an object")
    declared = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in value:
        if name not in declared:
            raise UsageError(f"{where} has {name!r}, which this version does not know")
    hints = _type_hints(kind)  # type: ignore[arg-type] # mypy: a class is hashable
    found = {}
    for name, field in declared.items():
        if name in value:
            found[name] = _value(hints[name], value[name], f"{where}, {name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"{where} has no {name!r}")
    return kind(**found)


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        return _optional(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise UsageError(f"{where} is {_short(value)}, not one of {', '.join(arguments)}")
        return value
    if origin is tuple:
        return _tuple(arguments, value, where)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(arguments[1], value, where)
    if is_dataclass(hint):
        return decode(hint, value, where)  # type: ignore[arg-type]
    return _plain(hint, value, where)


def _plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float and (value is None or type(value) is int):
        return math.nan if value is None else float(value)
    if isinstance(hint, type) and issubclass(hint, Enum) and value in {one.value for one in hint}:
        return hint(value)
    if hint is Path and type(value) is str:
        return Path(value)
    if hint is not Any and type(value) is not hint:
        raise UsageError(f"{where} is {_short(value)}, not of type {hint.__name__}")
    return value


def _optional(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and NoneType in kinds:
        return None
    *_, fallback = [kind for kind in kinds if kind is not NoneType]
    return _value(type(value) if type(value) in kinds else fallback, value, where)


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
