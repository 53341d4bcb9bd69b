"""Options of plugins: a descriptor's dataclass, filled from what a user gave."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, get_type_hints

from wfbench.contract import EnvSpec, FactorySpec, UsageError
from wfbench.contract.forms import FormOptions
from wfbench.host import values


@dataclass(frozen=True)
class Option:
    """One option of a plugin, as its dataclass declares it."""

    name: str
    hint: Any
    default: Any
    help: str
    before: Any
    """Its value in runs that were written before the option existed."""
    of: str = ""
    """The option that it belongs to: whoever replaces that one replaces this one, too."""

    @property
    def type_name(self) -> str:
        """The type in words."""
        return values.describe(self.hint)


def declared_options(spec: FactorySpec) -> tuple[Option, ...]:
    """Return the options of a plugin; raise ValueError if they are declared wrongly."""
    found = () if spec.options is None else _declared(spec.options)
    names = [option.name for option in found]
    if spec.positional is not None and spec.positional not in names:
        what = "which is not an option" if names else "but there are no options"
        raise ValueError(f"positional is {spec.positional!r}, {what}")
    return found


def form_options(spec: FactorySpec) -> tuple[Option, ...]:
    """Return the options that the plugin has because it has a workflow model."""
    shaped = isinstance(spec, EnvSpec) and "workflow" in spec.capabilities
    return _declared(FormOptions) if shaped else ()


def all_options(spec: FactorySpec) -> tuple[Option, ...]:
    """Return every option that a user may give: the plugin's own and those of its forms."""
    own = declared_options(spec)
    names = {option.name for option in own}
    return (*own, *(option for option in form_options(spec) if option.name not in names))


def without_options(
    spec: FactorySpec, given: Mapping[str, Any], replaced: Collection[str]
) -> dict[str, Any]:
    """Return options without those that are replaced, and without what belongs to them."""
    stale = {option.name for option in all_options(spec) if option.of in replaced} | {*replaced}
    return {name: value for name, value in given.items() if name not in stale}


def completed_options(spec: FactorySpec, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a stored run, and those that the plugin has had only since then."""
    return {option.name: option.before for option in all_options(spec)} | dict(stored)


def resolve_options(spec: FactorySpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of the plugin with its value: the given one, else the default.

    Text is parsed; other values (from a file) must have the declared type. Raise UsageError for an
    option that the plugin does not declare, or a value that its `__post_init__` refuses.
    """
    known = {option.name: option for option in all_options(spec)}
    typed = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{spec.kind} {spec.name!r} has no option {name!r}; {_listed(known)}")
        parse = values.from_text if isinstance(value, str) else values.from_data
        try:
            typed[name] = parse(known[name].hint, value)
        except ValueError as error:
            raise UsageError(f"option {spec.name}.{name}: {error}; {_listed(known)}") from error
    own = {option.name for option in declared_options(spec)}
    filled: dict[str, Any] = {}
    for kind, names in ((FormOptions, known.keys() - own), (spec.options, own)):
        if kind is not None:
            try:
                made = kind(**{name: typed[name] for name in names & typed.keys()})
            except ValueError as error:
                raise UsageError(f"options of {spec.kind} {spec.name!r}: {error}") from error
            filled |= {name: getattr(made, name) for name in names}
    return {name: filled[name] for name in known}


def _declared(options: type[Any]) -> tuple[Option, ...]:
    if not (isinstance(options, type) and is_dataclass(options)):
        raise ValueError(f"options must be a dataclass, not {options!r}")
    hints = get_type_hints(options)
    return tuple(_option(field, hints[field.name]) for field in fields(options) if field.init)


def _option(field: Field[Any], hint: Any) -> Option:
    where, default = f"option {field.name!r}", field.default
    if not values.supported(hint):
        raise ValueError(f"{where} has type {field.type}, not bool, int, float or str")
    if field.default_factory is not MISSING:
        default = field.default_factory()
    if default is MISSING:
        raise ValueError(f"{where} has no default")
    before = field.metadata.get("before", default)
    words = {key: str(field.metadata.get(key, "")) for key in ("help", "of")}
    return Option(field.name, hint, default, before=before, **words)


def _listed(known: Mapping[str, Option]) -> str:
    if not known:
        return "it has none"
    shown = (f"{o.name}={values.to_text(o.default)} ({o.type_name})" for o in known.values())
    return f"its options are {', '.join(shown)}"
