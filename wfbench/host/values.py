"""Typed values from text and from data files: the same rules for every option and setting."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "off": False, "0": False}
_PLAIN = (bool, int, float, str)


def supported(hint: Any) -> bool:
    """Return whether a user can give values of this type."""
    if _is_tuple(hint) or _is_optional(hint):
        return supported(_inner(hint))
    if get_origin(hint) is Literal:
        return all(isinstance(choice, str) for choice in get_args(hint))
    return hint in _PLAIN


def describe(hint: Any) -> str:
    """Describe the type in words."""
    if _is_tuple(hint):
        return f"list of {describe(_inner(hint))}"
    if _is_optional(hint):
        return f"{describe(_inner(hint))} or none"
    if get_origin(hint) is Literal:
        return "|".join(get_args(hint))
    return str(hint.__name__)


def from_text(hint: Any, text: str) -> Any:
    """Parse text; ValueError says what was expected."""
    if _is_tuple(hint):
        return tuple(from_text(_inner(hint), part) for part in text.split())
    if _is_optional(hint):
        return None if text.lower() == "none" else from_text(_inner(hint), text)
    if get_origin(hint) is Literal:
        return _chosen(hint, text)
    if hint is bool:
        if text.lower() not in _WORDS:
            raise ValueError(f"{text!r} is not a bool (say true or false)")
        return _WORDS[text.lower()]
    try:
        return hint(text)
    except ValueError:
        raise ValueError(f"{text!r} is not of type {describe(hint)}") from None


def from_data(hint: Any, value: Any) -> Any:
    """Check a value that is no text, e.g. of a TOML file; ValueError says what was expected."""
    if _is_tuple(hint):
        parts = value if isinstance(value, list | tuple) else [value]
        return tuple(from_data(_inner(hint), part) for part in parts)
    if _is_optional(hint):
        return None if value == "none" else from_data(_inner(hint), value)
    if get_origin(hint) is Literal:
        return _chosen(hint, value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise ValueError(f"{value!r} is not of type {describe(hint)}")
    return value


def to_text(value: Any) -> str:
    """Write a value as a user would type it: the inverse of `from_text`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(to_text(part) for part in value)
    return str(value)


def _chosen(hint: Any, value: Any) -> Any:
    if value not in get_args(hint):
        raise ValueError(f"{value!r} is not one of {', '.join(get_args(hint))}")
    return value


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple and get_args(hint)[1:] == (Ellipsis,)


def _is_optional(hint: Any) -> bool:
    args = get_args(hint)
    return get_origin(hint) in {Union, UnionType} and len(args) == 2 and NoneType in args


def _inner(hint: Any) -> Any:
    return next(arg for arg in get_args(hint) if arg not in {NoneType, Ellipsis})
