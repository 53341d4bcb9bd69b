"""Where a run configuration comes from: preset, TOML file, environment, flags; the last wins."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wfbench import values
from wfbench.config import PRESETS, SETTINGS, RunConfig
from wfbench.contract import UsageError
from wfbench.selection import format_selector, parse_selector

_PREFIX = "WFBENCH_RUN_"
_BY_KEY = {setting.key: setting for setting in SETTINGS.values()}


@dataclass(frozen=True)
class Layer:
    """What one source sets: typed values by field, and plugin options by plugin."""

    source: str
    values: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    preset: str | None = None


@dataclass(frozen=True)
class Effective:
    """The configuration a run has, and which source set what."""

    config: RunConfig
    options: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, str]
    """By field, for every field that some source set."""
    option_sources: Mapping[str, str]
    """By `plugin.option`."""


def file_layer(path: Path) -> Layer:
    """The settings of a TOML file: keys of the configuration, `preset`, and `[options.PLUGIN]`."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path}: this is not TOML: {error}") from error
    options = data.pop("options", {})
    if not isinstance(options, dict) or not all(isinstance(v, dict) for v in options.values()):
        raise UsageError(f"--config {path}: options go into tables such as [options.shm]")
    preset = data.pop("preset", None)
    if preset is not None and not isinstance(preset, str):
        raise UsageError(f"--config {path}: preset is {preset!r}; it must be a name")
    typed = {}
    for key, value in data.items():
        setting = _BY_KEY.get(key)
        if setting is None:
            known = ", ".join([*_BY_KEY, "preset", "options"])
            raise UsageError(f"--config {path}: there is no setting {key!r}; there are {known}")
        try:
            typed[setting.field] = values.from_data(setting.hint, value)
        except ValueError as error:
            raise UsageError(f"--config {path}: {key}: {error}") from error
    return Layer(str(path), typed, options, preset)


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """The settings of variables `WFBENCH_RUN_<KEY>`; lists are separated by spaces."""
    known = {setting.variable: setting for setting in SETTINGS.values()}
    typed = {}
    for variable in sorted(environ):
        if not variable.startswith(_PREFIX) or variable == f"{_PREFIX}PRESET":
            continue
        if variable not in known:
            listed = ", ".join(sorted([*known, f"{_PREFIX}PRESET"]))
            raise UsageError(f"{variable} is set, but there is no such setting; there are {listed}")
        try:
            setting = known[variable]
            typed[setting.field] = values.from_text(setting.hint, environ[variable])
        except ValueError as error:
            raise UsageError(f"{variable}: {error}") from error
    return Layer("environment", typed, preset=environ.get(f"{_PREFIX}PRESET"))


def resolve(layers: Iterable[Layer]) -> Effective:
    """The configuration that results; the last preset named lies beneath every layer."""
    given = list(layers)
    preset = next((layer.preset for layer in reversed(given) if layer.preset is not None), None)
    if preset is not None:
        if preset not in PRESETS:
            raise UsageError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
        given.insert(0, Layer(f"preset {preset}", PRESETS[preset]))
    settled: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    option_sources: dict[str, str] = {}
    for layer in given:
        _forget_overridden(settled, options, layer)
        settled |= layer.values
        sources |= dict.fromkeys(layer.values, layer.source)
        for plugin, chosen in layer.options.items():
            options.setdefault(plugin, {}).update(chosen)
            option_sources |= {f"{plugin}.{key}": layer.source for key in chosen}
    kept = {plugin: chosen for plugin, chosen in options.items() if chosen}
    return Effective(RunConfig(**settled), kept, sources, option_sources)


def _forget_overridden(
    settled: dict[str, Any], options: dict[str, dict[str, Any]], layer: Layer
) -> None:
    """Drop what earlier layers said about an option that this one sets in the other notation."""
    for name in (name for name, setting in SETTINGS.items() if setting.kind):
        for selector in _selectors(layer.values.get(name, ())):
            plugin, parts = parse_selector(selector)
            for key, _ in parts:
                options.get(plugin, {}).pop(key or "", None)
        if name in settled:
            kept = [_without(selector, layer.options) for selector in _selectors(settled[name])]
            settled[name] = kept[0] if isinstance(settled[name], str) else tuple(kept)


def _selectors(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _without(selector: str, options: Mapping[str, Mapping[str, Any]]) -> str:
    plugin, parts = parse_selector(selector)
    overridden = options.get(plugin, {})
    return format_selector(plugin, [(k, v) for k, v in parts if k not in overridden])
