"""Descriptors: checked before anything of a plugin is registered, or made from a class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, make_dataclass
from typing import Any, get_type_hints

from wfbench import contract
from wfbench.host import values
from wfbench.host.hookspecs import REGISTRATION
from wfbench.host.options import declared_options

_FIRST_API, _LAST_API = contract.API_FLOOR, contract.API_VERSION
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PATH_FIELDS = ("factory", "batched", "measure", "app", "policy")
RESERVED = frozenset({"all", "none"})
"""Words that mean something else where a plugin's name is expected."""
_HOOKS = {
    spec.kind: (hook, spec)
    for hook, spec in REGISTRATION.items()
    if issubclass(spec, contract.FactorySpec) and spec.kind != "reporter"
}
_ATTRIBUTES = frozenset({"capabilities", "cannot", "cadence", "positional", "batched", "horizon"})
"""Fields of a descriptor that a class may set."""


class DescriptorError(Exception):
    """What a hook returned is not what the hook must return."""


def valid_name(name: object) -> bool:
    """Return whether a plugin may have this name."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name not in RESERVED


def check_specs(hook: str, expected: type[contract.Spec], returned: object) -> list[contract.Spec]:
    """Return the descriptors a registration hook returned; DescriptorError says what is wrong."""
    if isinstance(returned, (str, contract.Spec)) or not isinstance(returned, Iterable):
        kind = type(returned).__name__
        raise DescriptorError(f"{hook} returned {kind}, not a list of {expected.__name__}")
    specs = []
    for item in returned:
        if not isinstance(item, expected):
            kind = type(item).__name__
            raise DescriptorError(f"{hook} returned a {kind}, not a {expected.__name__}")
        where = f"{hook}: {item.kind} {item.name!r}"
        if not (isinstance(item.api, int) and _FIRST_API <= item.api <= _LAST_API):
            served = f"this wfbench serves {_FIRST_API} to {_LAST_API}"
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
    if isinstance(spec, contract.FactorySpec):
        yield from _factory_rules(spec)
    if isinstance(spec, contract.EnvSpec):
        yield from _env_rules(spec)
    elif isinstance(spec, contract.TrainerSpec):
        cadence: Any = spec.cadence
        yield isinstance(cadence, contract.Cadence), f"cadence {cadence!r} is not a Cadence"
    elif isinstance(spec, contract.ClaimSpec):
        for name in ("documented", "conditions"):
            yield _one_line(getattr(spec, name)), f"{name} must be one line"
        number: Any = spec.number
        yield isinstance(number, int), f"number {number!r} is not an int"
    elif isinstance(spec, contract.ReporterSpec):
        yield spec.suffix.startswith("."), f"suffix {spec.suffix!r} does not begin with a dot"
    elif isinstance(spec, contract.HealthCheckSpec):
        yield callable(spec.check), f"check {spec.check!r} cannot be called"
    elif isinstance(spec, contract.CollectorSpec):
        cannot: Any = spec.cannot
        yield isinstance(cannot, Mapping), f"cannot is {cannot!r}, not a mapping"
        for slug, why in cannot.items():
            yield _one_line(why), f"why it cannot keep {slug!r} must be one line"


def _factory_rules(spec: contract.FactorySpec) -> Iterator[tuple[object, str]]:
    capabilities: Any = spec.capabilities
    yield isinstance(capabilities, frozenset), "capabilities must be a frozenset of names"
    try:
        declared_options(spec)
    except (ValueError, NameError, TypeError) as error:
        yield False, str(error)


def _env_rules(spec: contract.EnvSpec) -> Iterator[tuple[object, str]]:
    known = spec.horizon is None or spec.horizon in {o.name for o in declared_options(spec)}
    yield known, f"horizon is {spec.horizon!r}, which is not an option"
    for reference in spec.references:
        named = isinstance(reference, contract.Reference) and valid_name(reference.name)
        yield named, f"reference {reference!r} is not a named Reference"
        yield from _path_rules(reference)
    results: Any = spec.published
    valid = all(isinstance(result, contract.Published) for result in results)
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


def local_spec(kind: str, found: type) -> contract.FactorySpec:
    """Describe a class as a plugin of this kind, and register it as `local:NAME`.

    The name follows from the class (`FastPathCollector` is `fast-path`), the summary is the first
    line of its docstring, and its options are the parameters of `__init__` with a plain default.
    Class attributes such as `capabilities` and `cannot` set those fields of the descriptor.
    """
    if kind not in _HOOKS or not inspect.isclass(found):
        raise contract.UsageError(
            f"{found!r} cannot be used as a {kind}; give a selector or a class"
        )
    hook, expected = _HOOKS[kind]
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", found.__name__).replace("_", "-").strip("-")
    declared = _ATTRIBUTES & expected.__dataclass_fields__.keys() & set(dir(found))
    spec = expected(
        name=words.lower().removesuffix(f"-{kind}"),
        summary=(inspect.getdoc(found) or found.__name__).splitlines()[0],
        factory=contract.register_local(found.__name__, found),
        options=_options(found),
        **{name: getattr(found, name) for name in declared},
    )
    try:
        check_specs(hook, expected, [spec])
    except DescriptorError as error:
        raise contract.UsageError(f"class {found.__name__} cannot be used: {error}") from error
    return spec


def _options(found: type) -> type[Any] | None:
    """Declare the keyword parameters of a class as options."""
    parameters = inspect.signature(found).parameters.values()
    try:
        hints = get_type_hints(found.__init__)  # type: ignore[misc] # of the class as it is
    except NameError:  # an annotation that only a type checker can resolve
        hints = {}
    declared = []
    for parameter in parameters:
        hint = hints.get(parameter.name, type(parameter.default))
        if parameter.default is not parameter.empty and values.supported(hint):
            declared.append((parameter.name, hint, field(default=parameter.default)))
    return make_dataclass(f"{found.__name__}Options", declared, frozen=True) if declared else None
