"""Is a descriptor what its hook promises? Judged before anything of a plugin is registered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
    Reference,
    ReporterSpec,
    Spec,
    TrainerSpec,
)
from wfbench.options import Option, declared_options

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PATH_FIELDS = ("factory", "batched", "measure", "app")
RESERVED = frozenset({"all", "none"})
"""Words that mean something else where a plugin's name is expected."""


class DescriptorError(Exception):
    """What a hook returned is not what the hook promises."""


def valid_name(name: object) -> bool:
    """Whether a plugin may be called that."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name not in RESERVED


def checked_specs(hook: str, expected: type[Spec], returned: object) -> list[Spec]:
    """The descriptors a registration hook returned; DescriptorError says what is wrong."""
    if isinstance(returned, (str, Spec)) or not isinstance(returned, Iterable):
        kind = type(returned).__name__
        raise DescriptorError(f"{hook} returned {kind}, not a list of {expected.__name__}")
    specs = []
    for item in returned:
        if not isinstance(item, expected):
            kind = type(item).__name__
            raise DescriptorError(f"{hook} returned a {kind}, not a {expected.__name__}")
        _check(hook, item)
        specs.append(item)
    return specs


def _check(hook: str, spec: Any) -> None:
    where = f"{hook}: {spec.kind} {spec.name!r}"
    if not isinstance(spec.api, int) or not API_FLOOR <= spec.api <= API_VERSION:
        raise DescriptorError(
            f"{where} speaks API {spec.api}; this wfbench serves {API_FLOOR} to {API_VERSION}"
        )
    if not valid_name(spec.name):
        raise DescriptorError(f"{where}: a name is lower-case letters, digits and hyphens")
    if not isinstance(spec.summary, str) or not spec.summary.strip() or "\n" in spec.summary:
        raise DescriptorError(f"{where}: the summary must be one line")
    for name in _PATH_FIELDS:
        path = getattr(spec, name, None)
        if path is not None and not (isinstance(path, str) and _IMPORT_PATH.fullmatch(path)):
            raise DescriptorError(f"{where}: {name} {path!r} is not 'package.module:name'")
    _check_kind(where, spec)


def _check_kind(where: str, spec: Any) -> None:
    """What only descriptors of one kind have."""
    if isinstance(spec, TrainerSpec) and not isinstance(spec.cadence, Cadence):
        raise DescriptorError(f"{where}: cadence {spec.cadence!r} is not a Cadence")
    if isinstance(spec, ClaimSpec):
        _check_claim(where, spec)
    if isinstance(spec, ReporterSpec) and not spec.suffix.startswith("."):
        raise DescriptorError(f"{where}: suffix {spec.suffix!r} does not begin with a dot")
    if isinstance(spec, HealthCheckSpec) and not callable(spec.check):
        raise DescriptorError(f"{where}: check {spec.check!r} cannot be called")
    if isinstance(spec, FactorySpec):
        if not isinstance(spec.capabilities, frozenset):
            raise DescriptorError(f"{where}: capabilities must be a frozenset of names")
        _options(where, spec)
    if isinstance(spec, EnvSpec):
        _check_env(where, spec)
    if isinstance(spec, CollectorSpec):
        _check_cannot(where, spec)


def _check_claim(where: str, spec: ClaimSpec) -> None:
    for name in ("documented", "conditions"):
        text = getattr(spec, name)
        if not isinstance(text, str) or not text.strip() or "\n" in text:
            raise DescriptorError(f"{where}: {name} must be one line")
    if not isinstance(spec.number, int):
        raise DescriptorError(f"{where}: number {spec.number!r} is not an int")


def _check_env(where: str, spec: EnvSpec) -> None:
    names = {option.name for option in _options(where, spec)}
    if spec.horizon is not None and spec.horizon not in names:
        raise DescriptorError(f"{where}: horizon is {spec.horizon!r}, which is not an option")
    for reference in spec.references:
        if not isinstance(reference, Reference) or not valid_name(reference.name):
            raise DescriptorError(f"{where}: reference {reference!r} is not a named Reference")
        for path in (reference.policy, reference.batched):
            if path is not None and not _IMPORT_PATH.fullmatch(path):
                raise DescriptorError(f"{where}: {path!r} is not 'package.module:name'")


def _check_cannot(where: str, spec: CollectorSpec) -> None:
    if not isinstance(spec.cannot, Mapping):
        raise DescriptorError(f"{where}: cannot is {spec.cannot!r}, not a mapping")
    for slug, why in spec.cannot.items():
        if not isinstance(why, str) or not why.strip() or "\n" in why:
            raise DescriptorError(f"{where}: why it cannot keep {slug!r} must be one line")


def _options(where: str, spec: FactorySpec) -> tuple[Option, ...]:
    try:
        return declared_options(spec)
    except (ValueError, NameError, TypeError) as error:
        raise DescriptorError(f"{where}: {error}") from error
