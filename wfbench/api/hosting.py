"""Which plugins the functions of the API use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wfbench.host.manager import Broken, PluginHost, PluginSettings


@dataclass
class _State:
    """What the calls of this process share."""

    directories: tuple[Path, ...] = ()
    external: bool = True
    strict: bool = False
    command: tuple[str, ...] = ()
    """The arguments of the command line, if that is what calls."""
    reserved: frozenset[str] = frozenset()
    host: PluginHost | None = None


_STATE = _State()


def use_plugins(
    plugins_dir: str | Path | Iterable[str | Path] = (),
    *,
    no_plugins: bool = False,
    strict_plugins: bool = False,
) -> None:
    """Choose which plugins all later calls use; without this, every installed one.

    plugins_dir: also load the plugins (files and packages) of these directories.
    no_plugins: load only wfbench's own.
    strict_plugins: raise PluginError if a plugin is broken.

    Example: wfbench.use_plugins("my_plugins")
    """
    given = (plugins_dir,) if isinstance(plugins_dir, (str, Path)) else tuple(plugins_dir)
    configure(map(Path, given), external=not no_plugins, strict=strict_plugins)
    plugin_host()


def configure(
    directories: Iterable[Path] = (),
    *,
    external: bool = True,
    strict: bool = False,
    command: Sequence[str] = (),
    reserved: Iterable[str] = (),
) -> None:
    """Set what the first call loads; the environment (WFBENCH_LOAD_PLUGINS, ...) counts too."""
    global _STATE  # noqa: PLW0603 - one set of plugins per process
    _STATE = _State(tuple(directories), external, strict, tuple(command), frozenset(reserved))


def plugin_host() -> PluginHost:
    """Return the plugins in use, loaded by the first call."""
    from wfbench.contract import PluginError
    from wfbench.host.manager import load_plugins

    if _STATE.host is None:
        found = load_plugins(plugin_settings())
        if _STATE.strict and found.broken:
            first = found.broken[0]
            raise PluginError(f"--strict-plugins: {broken_line(first)}") from first.error
        _STATE.host = found
    return _STATE.host


def plugin_settings() -> PluginSettings:
    """Return which plugins are to be loaded."""
    from wfbench.host.manager import PluginSettings

    only = os.environ.get("WFBENCH_LOAD_PLUGINS")
    return PluginSettings(
        directories=tuple(folder.resolve() for folder in _STATE.directories),
        external=_STATE.external,
        only=None if only is None else _names(only),
        blocked=_names(os.environ.get("WFBENCH_BLOCK_PLUGINS", "")),
        reserved_commands=_STATE.reserved,
    )


def broken_plugins() -> list[Broken]:
    """Return the broken plugins among those that were loaded so far."""
    return [] if _STATE.host is None else list(_STATE.host.broken)


def broken_line(broken: Broken) -> str:
    """Say which plugin is broken and why."""
    return f"plugin {broken.source.plugin} ({broken.source}) is broken: {broken.cause}"


def command_line() -> tuple[str, ...]:
    """Return the arguments of the command line; empty when Python code calls."""
    return _STATE.command


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
