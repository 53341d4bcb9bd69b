"""Checks of descriptors, made before anything of a plugin is registered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wfbench.contract import (
    API_FLOOR,
    API_VERSION,
    Cadence,
    ClaimSpec,
    CollectorSpec,
    EnvSpec,
    FactorySpec,
    HealthCheckSpec,
    Published,
    Reference,
    ReporterSpec,
    Spec,
    TrainerSpec,
)
from wfbench.host.options import declared_options

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PATH_FIELDS = ("factory", "batched", "measure", "app", "policy")
RESERVED = frozenset({"all", "none"})
"""Words that mean something else where a plugin's name is expected."""


class DescriptorError(Exception):
    """What a hook returned is not what the hook must return."""


def valid_name(name: object) -> bool:
    """Return whether a plugin may have this name."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name not in RESERVED


def check_specs(hook: str, expected: type[Spec], returned: object) -> list[Spec]:
    """Return the descriptors a registration hook returned; DescriptorError says what is wrong."""
    if isinstance(returned, (str, Spec)) or not isinstance(returned, Iterable):
        kind = type(returned).__name__
        raise DescriptorError(f"{hook} returned {kind}, not a list of {expected.__name__}")
    specs = []
    for item in returned:
        if not isinstance(item, expected):
            kind = type(item).__name__
            raise DescriptorError(f"{hook} returned a {kind}, not a {expected.__name__}")
        where = f"{hook}: {item.kind} {item.name!r}"
        if not (isinstance(item.api, int) and API_FLOOR <= item.api <= API_VERSION):
            served = f"this wfbench serves {API_FLOOR} to {API_VERSION}"
            raise DescriptorError(f"{where} speaks API {item.api}; {served}")
        for holds, rule in _rules(item):
            if not holds:
                raise DescriptorError(f"{where}: {rule}")
        specs.append(item)
    return specs


def _rules(spec: Any) -> Iterator[tuple[object, str]]:
    """Yield what a descriptor must fulfil: whether it does, and what to say if not."""
    yield valid_name(spec.name), "a name is lower-case letters, digits and hyphens"
    yield _one_line(spec.summary), "the summary must be one line"
    yield from _path_rules(spec)
    if isinstance(spec, FactorySpec):
        yield from _factory_rules(spec)
    if isinstance(spec, EnvSpec):
        yield from _env_rules(spec)
    elif isinstance(spec, TrainerSpec):
        cadence: Any = spec.cadence
        yield isinstance(cadence, Cadence), f"cadence {cadence!r} is not a Cadence"
    elif isinstance(spec, ClaimSpec):
        for name in ("documented", "conditions"):
            yield _one_line(getattr(spec, name)), f"{name} must be one line"
        number: Any = spec.number
        yield isinstance(number, int), f"number {number!r} is not an int"
    elif isinstance(spec, ReporterSpec):
        yield spec.suffix.startswith("."), f"suffix {spec.suffix!r} does not begin with a dot"
    elif isinstance(spec, HealthCheckSpec):
        yield callable(spec.check), f"check {spec.check!r} cannot be called"
    elif isinstance(spec, CollectorSpec):
        cannot: Any = spec.cannot
        yield isinstance(cannot, Mapping), f"cannot is {cannot!r}, not a mapping"
        for slug, why in cannot.items():
            yield _one_line(why), f"why it cannot keep {slug!r} must be one line"


def _factory_rules(spec: FactorySpec) -> Iterator[tuple[object, str]]:
    capabilities: Any = spec.capabilities
    yield isinstance(capabilities, frozenset), "capabilities must be a frozenset of names"
    try:
        declared_options(spec)
    except (ValueError, NameError, TypeError) as error:
        yield False, str(error)


def _env_rules(spec: EnvSpec) -> Iterator[tuple[object, str]]:
    known = spec.horizon is None or spec.horizon in {o.name for o in declared_options(spec)}
    yield known, f"horizon is {spec.horizon!r}, which is not an option"
    for reference in spec.references:
        named = isinstance(reference, Reference) and valid_name(reference.name)
        yield named, f"reference {reference!r} is not a named Reference"
        yield from _path_rules(reference)
    results: Any = spec.published
    valid = all(isinstance(result, Published) for result in results)
    alike = valid and len({frozenset(result.returns) for result in results}) <= 1
    same = "with the same red agents and numbers of steps"
    yield alike, f"published results must be Published objects {same}"


def _path_rules(described: Any) -> Iterator[tuple[object, str]]:
    for name in _PATH_FIELDS:
        path = getattr(described, name, None)
        valid = path is None or (isinstance(path, str) and _IMPORT_PATH.fullmatch(path))
        yield valid, f"{name} {path!r} is not 'package.module:name'"


def _one_line(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip()) and "\n" not in text
