"""The plugin host: loads every plugin in isolation and knows what is on offer.

A plugin is vetted first, on a manager of its own. Only one that imports, matches the hooks and
returns sound descriptors is registered; any other is listed as broken and leaves no trace.
"""

from __future__ import annotations

import importlib
import logging
import sys
import traceback
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

import pluggy

from wfbench.contract import Event, PluginError, Spec, UsageError
from wfbench.host import hookspecs
from wfbench.host.descriptors import DescriptorError, check_specs, local_spec
from wfbench.host.discovery import Candidate, Source, in_directories, installed

log = logging.getLogger(__name__)

_NOT_THE_PLUGIN = (
    "<",
    *(str(Path(str(module.__file__)).parent) for module in (hookspecs, pluggy, importlib)),
)
"""Beginnings of the files that take part in loading a plugin without being the plugin."""


@dataclass(frozen=True)
class PluginSettings:
    """Which plugins to load. Bundled ones are loaded unless blocked by name."""

    directories: tuple[Path, ...] = ()
    external: bool = True
    """Whether to load plugins that are not bundled."""
    only: frozenset[str] | None = None
    """The only plugins to load besides the bundled ones; None: all."""
    blocked: frozenset[str] = frozenset()
    reserved_commands: frozenset[str] = frozenset()
    """Verbs of the command line itself, which no plugin may replace."""


@dataclass(frozen=True)
class Offer:
    """A descriptor on offer and the plugin it comes from."""

    spec: Spec
    source: Source


@dataclass(frozen=True)
class Broken:
    """A plugin that cannot be used, and why."""

    source: Source
    cause: str
    names: frozenset[str]
    """What a user may select that would have come from it."""
    error: BaseException | None = None


@dataclass(frozen=True)
class PluginRow:
    """One line of `wfbench plugins list`."""

    kind: str
    """The kind of descriptor; `observer` for a plugin that only watches; `plugin` if unknown."""
    name: str
    summary: str
    status: str
    """`ok`, `broken` or `blocked`."""
    plugin: str
    distribution: str
    version: str
    file: str
    cause: str = ""
    """Why it is broken or blocked."""


class PluginHost:
    """What the loaded plugins offer. Build it with `load_plugins`."""

    def __init__(self, reserved_commands: frozenset[str] = frozenset()) -> None:
        self._reserved = {("command", name) for name in reserved_commands}
        self.loaded: list[Source] = []
        self.broken: list[Broken] = []
        self.blocked: list[Source] = []
        self._offers: dict[tuple[str, str], Offer] = {}
        self._manager = _hook_manager()

    def offers(self, kind: str | None = None) -> list[Offer]:
        """Return what is on offer, of one kind or of all, sorted by kind and name."""
        return [o for key, o in sorted(self._offers.items()) if kind is None or key[0] == kind]

    def find(self, kind: str, name: str) -> Offer:
        """Return the offer a user selected; raise PluginError if its plugin is broken."""
        if (kind, name) in self._offers:
            return self._offers[kind, name]
        return self._refuse(kind, name, self.offers(kind))

    def named(self, name: str) -> list[Offer]:
        """Return the offers of this name, or of the plugin of this name; raise what `find` does."""
        found = [offer for offer in self.offers() if offer.spec.name == name]
        found = found or [offer for offer in self.offers() if offer.source.plugin == name]
        return found or self._refuse("plugin", name, self.offers())

    def offer_class(self, kind: str, found: type) -> Offer:
        """Offer a class of this process; a class of the same name replaces it."""
        spec = local_spec(kind, found)
        offer = Offer(spec, Source(spec.name, "", "", f"class {found.__qualname__}"))
        other = self._offers.get((kind, spec.name))
        if other is not None and other.source != offer.source:
            taken = f"{kind} {spec.name!r} is already provided by {other.source}"
            raise UsageError(f"{taken}; rename the class {found.__name__}")
        self._offers[kind, spec.name] = offer
        return offer

    def inventory(self) -> list[PluginRow]:
        """List every plugin: usable ones by kind and name, then broken and blocked ones."""
        kinds = hookspecs.KINDS
        offers = sorted(self.offers(), key=lambda o: (kinds.index(o.spec.kind), o.spec.name))
        silent = [source for source in self.loaded if source not in {o.source for o in offers}]
        rows = [(o.source, o.spec.kind, o.spec.name, o.spec.summary, "ok", "") for o in offers]
        rows += [(s, "observer", s.plugin, "Watches runs", "ok", "") for s in silent]
        rows += [(b.source, "plugin", b.source.plugin, "", "broken", b.cause) for b in self.broken]
        rows += [(s, "plugin", s.plugin, "", "blocked", "not to be loaded") for s in self.blocked]
        return [
            PluginRow(kind, name, summary, status, **asdict(source), cause=cause)
            for source, kind, name, summary, status, cause in rows
        ]

    def notify(self, hook: str, event: Event) -> None:
        """Call every observer; log what one raises, and go on with the next."""
        plugins = self._manager.get_plugins()
        for plugin in [impl.plugin for impl in getattr(self._manager.hook, hook).get_hookimpls()]:
            call = self._manager.subset_hook_caller(hook, plugins - {plugin})
            try:
                call(event=event)
            except Exception:
                name = self._manager.get_name(plugin)
                log.warning("plugin %s failed in %s", name, hook, exc_info=True)

    def add(self, candidate: Candidate) -> None:
        """Load a plugin, or list it as broken."""
        source = candidate.source
        names = set(source.names)
        started = perf_counter()
        try:
            # What a plugin prints while it is loaded must not mix with our output.
            with redirect_stdout(sys.stderr):
                plugin = candidate.load()
                specs = _vet(plugin, source.plugin, names)
            offers = [Offer(spec, source) for spec in specs]
            self._refuse_duplicates(offers)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - not even SystemExit may get out of a plugin
            self.broken.append(Broken(source, _cause_of(error), frozenset(names), error))
            log.debug("broken: %s (%s): %s", source.plugin, source, error)
            return
        self._manager.register(plugin, name=f"{source.plugin} ({source})")
        self.loaded.append(source)
        self._offers |= {(offer.spec.kind, offer.spec.name): offer for offer in offers}
        seconds = perf_counter() - started
        log.debug("loaded: %s (%s) in %.3f s", source.plugin, source, seconds)

    def _refuse(self, kind: str, name: str, offers: list[Offer]) -> NoReturn:
        for broken in self.broken:
            if name in broken.names:
                line = f"plugin {name!r} ({broken.source}) is broken: {broken.cause}"
                raise PluginError(line) from broken.error
        if any(name in source.names for source in self.blocked):
            raise UsageError(f"plugin {name!r} is blocked; see `wfbench plugins list`")
        choices = ", ".join(sorted({offer.spec.name for offer in offers})) or "none is installed"
        hint = "; if it comes from a separate plugin, install that plugin first"
        if self.broken:
            hint = "; some plugins are broken, see `wfbench plugins list`"
        raise UsageError(f"there is no {kind} {name!r}; choose from: {choices}{hint}")

    def _refuse_duplicates(self, offers: list[Offer]) -> None:
        seen = dict(self._offers)
        for offer in offers:
            kind, name = key = offer.spec.kind, offer.spec.name
            if key in self._reserved:
                raise PluginError(f"{name!r} is a command of wfbench itself")
            if key in seen:
                provider = f"{seen[key].source.plugin} ({seen[key].source})"
                raise PluginError(f"{kind} {name!r} is already provided by {provider}")
            seen[key] = offer


def load_plugins(settings: PluginSettings) -> PluginHost:
    """Load every plugin that the settings ask for; list those that are broken."""
    host = PluginHost(settings.reserved_commands)
    unseen = set(settings.only or ())
    for candidate in chain(installed(), in_directories(settings.directories)):
        source = candidate.source
        if source.distribution and not (source.bundled or settings.external):
            continue
        unseen -= source.names
        chosen = settings.only is None or settings.only & source.names
        if settings.blocked & source.names or not (source.bundled or chosen):
            host.blocked.append(source)
        else:
            host.add(candidate)
    for name in sorted(unseen):
        missing = Source(name, "", "", "not installed")
        cause = "it should be loaded, but is not installed"
        host.broken.append(Broken(missing, cause, missing.names))
    return host


def _hook_manager() -> pluggy.PluginManager:
    """Return a manager that knows only the hooks; it logs calls if the log is at debug."""

    def before(hook: str, impls: Any, kwargs: Any) -> None:
        log.debug("call %s(%s) of %s", hook, ", ".join(kwargs), [i.plugin_name for i in impls])

    def after(outcome: Any, hook: str, _impls: Any, _kwargs: Any) -> None:
        log.debug("%s %s", hook, "returned" if outcome.exception is None else "raised")

    manager = pluggy.PluginManager("wfbench")
    manager.add_hookspecs(hookspecs)
    if log.isEnabledFor(logging.DEBUG):
        manager.add_hookcall_monitoring(before, after)
    return manager


def _vet(plugin: Any, name: str, names: set[str]) -> list[Spec]:
    """Return the descriptors of a plugin, or raise whatever is wrong with it.

    Every name that it offers is added to `names`, as far as it gets.
    """
    manager = _hook_manager()
    manager.register(plugin, name=name)
    manager.check_pending()
    hooks = [caller.name for caller in manager.get_hookcallers(plugin) or ()]
    if not hooks:
        raise PluginError("it implements no hook; mark its functions with @hookimpl")
    specs = []
    for hook in hooks:
        if hook in hookspecs.REGISTRATION:
            # Pluggy leaves out an answer of None; to us it is as wrong as any other.
            for returned in getattr(manager.hook, hook)() or [None]:
                found = check_specs(hook, hookspecs.REGISTRATION[hook], returned)
                names |= {spec.name for spec in found}
                specs += found
    return specs


def _cause_of(error: BaseException) -> str:
    """Say in one line what went wrong, and on which line of the plugin."""
    text = " ".join(str(error).split()) or "no message"
    if not isinstance(error, (PluginError, DescriptorError)):
        text = f"{type(error).__name__}: {text}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_NOT_THE_PLUGIN)]
    return f"{text} ({own[-1].filename}, line {own[-1].lineno})" if own else text
