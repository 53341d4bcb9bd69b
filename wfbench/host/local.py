"""Descriptors made from classes of a script or notebook, without a package around them."""

from __future__ import annotations

import inspect
import re
from dataclasses import field, make_dataclass
from typing import Any, get_type_hints

from wfbench.contract import FactorySpec, UsageError, register_local
from wfbench.host import values
from wfbench.host.descriptors import DescriptorError, check_specs
from wfbench.host.hookspecs import REGISTRATION

_HOOKS = {
    spec.kind: (hook, spec)
    for hook, spec in REGISTRATION.items()
    if issubclass(spec, FactorySpec) and spec.kind != "reporter"
}
_ATTRIBUTES = frozenset({"capabilities", "cannot", "cadence", "positional", "batched", "horizon"})
"""Fields of a descriptor that a class may set."""


def local_spec(kind: str, found: type) -> FactorySpec:
    """Describe a class as a plugin of this kind, and register it as `local:NAME`.

    The name follows from the class (`FastPathCollector` is `fast-path`), the summary is the first
    line of its docstring, and its options are the parameters of `__init__` with a plain default.
    Class attributes such as `capabilities` and `cannot` set those fields of the descriptor.
    """
    if kind not in _HOOKS or not inspect.isclass(found):
        raise UsageError(f"{found!r} cannot be used as a {kind}; give a selector or a class")
    hook, expected = _HOOKS[kind]
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", found.__name__).replace("_", "-").strip("-")
    declared = _ATTRIBUTES & expected.__dataclass_fields__.keys() & set(dir(found))
    spec = expected(
        name=words.lower().removesuffix(f"-{kind}"),
        summary=(inspect.getdoc(found) or found.__name__).splitlines()[0],
        factory=register_local(found.__name__, found),
        options=_options(found),
        **{name: getattr(found, name) for name in declared},
    )
    try:
        check_specs(hook, expected, [spec])
    except DescriptorError as error:
        raise UsageError(f"class {found.__name__} cannot be used: {error}") from error
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
