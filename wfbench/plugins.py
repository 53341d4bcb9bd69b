"""The plugin host: loads every plugin in isolation and answers what is on offer.

A plugin is tried out on a manager of its own first. Only one that imports, matches the hooks and
returns sound descriptors is registered; any other is listed as broken and leaves no trace.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import NoReturn

from wfbench.contract import Event, PluginError, Spec, UsageError
from wfbench.discovery import Candidate, Source, in_directories, installed
from wfbench.trial import cause_of, hook_manager, tried_out

log = logging.getLogger(__name__)

_ELSEWHERE = {
    ("env", "cyborg"): "wfbench-cyborg",
    ("env", "gymnasium"): "wfbench-gymnasium",
    ("collector", "gym-sync"): "wfbench-gymnasium",
    ("collector", "gym-async"): "wfbench-gymnasium",
    ("collector", "sb3-dummy"): "wfbench-sb3",
    ("collector", "sb3-subproc"): "wfbench-sb3",
    ("collector", "ray"): "wfbench-ray",
    ("trainer", "sb3-ppo"): "wfbench-sb3",
    ("executor", "ray"): "wfbench-ray",
}
"""What the project offers in distributions of their own, by kind and name."""


@dataclass(frozen=True)
class PluginSettings:
    """Which plugins to load. Ours are loaded unless blocked by name."""

    directories: tuple[Path, ...] = ()
    external: bool = True
    """Load plugins that are not ours."""
    only: frozenset[str] | None = None
    """Of those that are not ours, load only these; None: all."""
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


class PluginHost:
    """What the loaded plugins offer. Build it with `load_plugins`."""

    def __init__(self, reserved_commands: frozenset[str] = frozenset()) -> None:
        self._reserved = {("command", name) for name in reserved_commands}
        self.loaded: list[Source] = []
        self.broken: list[Broken] = []
        self.blocked: list[Source] = []
        self._offers: dict[tuple[str, str], Offer] = {}
        self._manager = hook_manager(log)

    def offers(self, kind: str | None = None) -> list[Offer]:
        """What is on offer, of one kind or of all, by kind and name."""
        return [o for key, o in sorted(self._offers.items()) if kind is None or key[0] == kind]

    def find(self, kind: str, name: str) -> Offer:
        """The offer a user selected; PluginError if its plugin is broken."""
        if (kind, name) in self._offers:
            return self._offers[kind, name]
        return self._refuse(kind, name, self.offers(kind))

    def named(self, name: str) -> list[Offer]:
        """Every offer of this name, or of the plugin of this name; the errors of `find`."""
        found = [offer for offer in self.offers() if offer.spec.name == name]
        found = found or [offer for offer in self.offers() if offer.source.plugin == name]
        return found or self._refuse("plugin", name, self.offers())

    def notify(self, hook: str, event: Event) -> None:
        """Tell every observer; what one raises is logged and keeps no other from being told."""
        plugins = self._manager.get_plugins()
        for plugin in [impl.plugin for impl in getattr(self._manager.hook, hook).get_hookimpls()]:
            call = self._manager.subset_hook_caller(hook, plugins - {plugin})
            try:
                call(event=event)
            except Exception:
                name = self._manager.get_name(plugin)
                log.warning("plugin %s failed in %s", name, hook, exc_info=True)

    def add(self, candidate: Candidate) -> None:
        """Load one plugin, or list it as broken."""
        source = candidate.source
        names = set(source.names)
        started = perf_counter()
        try:
            # What a plugin prints while it is loaded must not get into an answer.
            with redirect_stdout(sys.stderr):
                plugin = candidate.load()
                specs = tried_out(plugin, source.plugin, names, log)
            offers = [Offer(spec, source) for spec in specs]
            self._refuse_duplicates(offers)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - not even SystemExit may get out of a plugin
            self.broken.append(Broken(source, cause_of(error), frozenset(names), error))
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
        hint = "; some plugins are broken, see `wfbench plugins list`" if self.broken else ""
        if (kind, name) in _ELSEWHERE:
            hint = f"; {name} comes with pip install ./plugins/{_ELSEWHERE[kind, name]}" + hint
        raise UsageError(f"there is no {kind} {name!r}; choose from: {choices}{hint}")

    def _refuse_duplicates(self, offers: list[Offer]) -> None:
        seen = dict(self._offers)
        for offer in offers:
            spec = offer.spec
            if (spec.kind, spec.name) in self._reserved:
                raise PluginError(f"{spec.name!r} is a command of wfbench itself")
            if (spec.kind, spec.name) in seen:
                other = seen[spec.kind, spec.name].source
                raise PluginError(
                    f"{spec.kind} {spec.name!r} is already provided by {other.plugin} ({other})"
                )
            seen[spec.kind, spec.name] = offer


def load_plugins(settings: PluginSettings) -> PluginHost:
    """Every plugin the settings ask for; one that is broken is listed as such."""
    host = PluginHost(settings.reserved_commands)
    unseen = set(settings.only or ())
    for candidate in _candidates(settings):
        source = candidate.source
        unseen -= source.names
        chosen = settings.only is None or settings.only & source.names
        if settings.blocked & source.names or not (source.bundled or chosen):
            host.blocked.append(source)
        else:
            host.add(candidate)
    for name in sorted(unseen):
        missing = Source(name, "", "", "not installed")
        host.broken.append(Broken(missing, "it is to be loaded, but not installed", missing.names))
    return host


def _candidates(settings: PluginSettings) -> Iterator[Candidate]:
    found = installed()
    yield from found if settings.external else (c for c in found if c.source.bundled)
    yield from in_directories(settings.directories)
