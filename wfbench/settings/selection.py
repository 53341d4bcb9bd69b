"""Selection: plugins by name, with the options to build them with.

A selector is `NAME[:PART[,PART...]]`. A part is `key=value`, or a bare value for the option the
plugin names as positional: `shm:workers=2`, `synthetic:cyborg`. `-o NAME.key=value` sets the same
option and may hold commas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wfbench.contract import (
    EnvRef,
    EnvSpec,
    FactorySpec,
    PluginError,
    UsageError,
    WfbenchError,
    load_object,
)
from wfbench.contract.forms import FormOptions, shaped_ref
from wfbench.host import values
from wfbench.host.manager import Offer, PluginHost
from wfbench.host.options import all_options, declared_options, form_options, resolve_options

Selector = str | type
"""`NAME[:PART...]`, or a class of this process."""

ALL = "all"
"""The selector for every installed plugin of a kind."""


@dataclass(frozen=True)
class Choice:
    """A selected plugin and the value of every option it declares."""

    offer: Offer
    spec: FactorySpec
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The selector that gives this choice: the name and what differs from the defaults."""
        changed = [
            (option.name, values.to_text(self.options[option.name]))
            for option in all_options(self.spec)
            if self.options[option.name] != option.default
        ]
        return format_selector(self.spec.name, changed)

    def build(self, *arguments: Any) -> Any:
        """Call the plugin's factory with the arguments and the options."""
        where = f"{self.spec.kind} {self.spec.name!r} ({self.offer.source})"
        try:
            factory = load_object(self.spec.factory)
        except (ImportError, AttributeError) as error:
            raise PluginError(f"{where}: cannot load {self.spec.factory}: {error}") from error
        try:
            return factory(*arguments, **self.options)
        except WfbenchError:
            raise
        except Exception as error:
            kind = type(error).__name__
            raise PluginError(f"{where}: its factory raised {kind}: {error}") from error


def parse_selector(text: str) -> tuple[str, list[tuple[str | None, str]]]:
    """Split a selector into its name and parts; a bare value has no key."""
    name, colon, rest = text.partition(":")
    parts = rest.split(",") if colon else []
    if not name or any(not part for part in parts):
        raise UsageError(f"{text!r} is not NAME or NAME:KEY=VALUE[,KEY=VALUE...]")
    split = [part.partition("=") for part in parts]
    return name, [(key, value) if equals else (None, key) for key, equals, value in split]


def format_selector(name: str, parts: Iterable[tuple[str | None, str]]) -> str:
    """Join a name and parts to a selector: the inverse of `parse_selector`."""
    texts = [value if key is None else f"{key}={value}" for key, value in parts]
    return f"{name}:{','.join(texts)}" if texts else name


def parse_options(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parse `-o NAME.KEY=VALUE` settings into options by plugin; a later one wins."""
    options: dict[str, dict[str, Any]] = {}
    for setting in settings:
        target, equals, value = setting.partition("=")
        name, dot, key = target.partition(".")
        if not (name and dot and key and equals):
            raise UsageError(f"-o {setting}: this is not NAME.KEY=VALUE, such as shm.workers=2")
        options.setdefault(name, {})[key] = value
    return options


def select(
    host: PluginHost,
    wanted: Mapping[str, Sequence[Selector]],
    options: Mapping[str, Mapping[str, Any]] | None = None,
    shared: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, tuple[Choice, ...]]:
    """Return the choices for selectors by kind.

    `options` are by plugin name, and each must belong to a selected plugin. `shared` values are by
    kind: each goes to the selected plugins of that kind that declare an option of its name and have
    no value of their own.
    """
    options, shared = options or {}, shared or {}
    chosen: dict[str, tuple[Choice, ...]] = {}
    for kind, selectors in wanted.items():
        chosen[kind] = tuple(
            _choice(host, kind, selector, options, shared.get(kind, {}))
            for selector in _expanded(host, kind, selectors)
        )
        labels = Counter(choice.label for choice in chosen[kind])
        for label, times in labels.items():
            if times > 1:
                raise UsageError(f"{kind} {label!r} is selected twice; name it once")
    names = {choice.spec.name for choices in chosen.values() for choice in choices}
    for name in options:
        if name not in names:
            listed = ", ".join(sorted(names)) or "none"
            raise UsageError(f"options are given for {name!r}, but the selection is {listed}")
    return chosen


def env_ref(choice: Choice) -> EnvRef:
    """Refer to the selected environment in a form that any process can build."""
    spec = choice.spec
    if not isinstance(spec, EnvSpec):
        raise TypeError(f"{spec.name} is a {spec.kind}, not an env")
    return spec_ref(spec, choice.options)


def spec_ref(spec: EnvSpec, options: Mapping[str, Any]) -> EnvRef:
    """Refer to an environment with these options: its own and those of its form."""
    own = dict(options)
    declared = {option.name for option in declared_options(spec)}
    form = {o.name: own.pop(o.name) for o in form_options(spec) if o.name not in declared}
    return shaped_ref(EnvRef(spec.name, spec.factory, spec.batched, own), FormOptions(**form))


def mismatch(collector: Choice, env: Choice) -> str | None:
    """Return why this collector cannot step this environment; None if it can."""
    batched = getattr(env.spec, "batched", None) is not None
    if "batched-only" in collector.spec.capabilities and not batched:
        needs = f"collector {collector.spec.name!r} needs a batched environment"
        return f"{needs}, and {env.spec.name!r} has no batched form"
    return None


def _expanded(host: PluginHost, kind: str, selectors: Sequence[Selector]) -> list[Selector]:
    if ALL not in selectors:
        return list(selectors)
    if len(selectors) > 1:
        raise UsageError(f"--{kind} {ALL} already means every {kind}; leave the others out")
    return [offer.spec.name for offer in host.offers(kind)]


def _choice(
    host: PluginHost,
    kind: str,
    selector: Selector,
    options: Mapping[str, Mapping[str, Any]],
    shared: Mapping[str, Any],
) -> Choice:
    if isinstance(selector, str):
        name, parts = parse_selector(selector)
        offer = host.find(kind, name)
    else:
        offer, parts = host.offer_class(kind, selector), []
        name = offer.spec.name
    spec = offer.spec
    if not isinstance(spec, FactorySpec):
        raise UsageError(f"a {kind} cannot be selected")
    given: dict[str, Any] = dict(options.get(name, {}))
    for key, value in parts:
        option = key or spec.positional
        if option is None:
            raise UsageError(f"{selector!r}: {kind} {name!r} takes no bare value, only KEY=VALUE")
        if option in given:
            raise UsageError(f"option {name}.{option} is given twice; give it once")
        given[option] = value
    declared = {option.name for option in all_options(spec)}
    common = {key: value for key, value in shared.items() if key in declared}
    return Choice(offer, spec, resolve_options(spec, common | given))
