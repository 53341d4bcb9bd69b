"""Which plugins the functions of the API use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wfbench.host.manager import Broken, PluginHost, PluginSettings


@dataclass
class _State:
    """What the calls of this process share."""

    settings: PluginSettings | None = None
    strict: bool = False
    command: tuple[str, ...] = ()
    """The arguments of the command line, if that is what calls."""
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
    settings = _settings(os.environ, tuple(directories), external, frozenset(reserved))
    _STATE = _State(settings, strict, tuple(command))


def plugin_host() -> PluginHost:
    """Return the plugins in use, loaded by the first call."""
    from wfbench.contract import PluginError
    from wfbench.host.manager import load_plugins

    if _STATE.settings is None:
        configure()
    if _STATE.host is None and _STATE.settings is not None:
        found = load_plugins(_STATE.settings)
        if _STATE.strict and found.broken:
            first = found.broken[0]
            raise PluginError(f"--strict-plugins: {broken_line(first)}") from first.error
        _STATE.host = found
    assert _STATE.host is not None  # noqa: S101 - set above
    return _STATE.host


def broken_plugins() -> list[Broken]:
    """Return the broken plugins among those that were loaded so far."""
    return [] if _STATE.host is None else list(_STATE.host.broken)


def broken_line(broken: Broken) -> str:
    """Say which plugin is broken and why."""
    return f"plugin {broken.source.plugin} ({broken.source}) is broken: {broken.cause}"


def command_line() -> tuple[str, ...]:
    """Return the arguments of the command line; empty when Python code calls."""
    return _STATE.command


def _settings(
    environ: Mapping[str, str],
    directories: tuple[Path, ...],
    external: bool,  # noqa: FBT001 - private
    reserved: frozenset[str],
) -> PluginSettings:
    from wfbench.host.manager import PluginSettings

    only = environ.get("WFBENCH_LOAD_PLUGINS")
    return PluginSettings(
        directories=directories,
        external=external,
        only=None if only is None else _names(only),
        blocked=_names(environ.get("WFBENCH_BLOCK_PLUGINS", "")),
        reserved_commands=reserved,
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
