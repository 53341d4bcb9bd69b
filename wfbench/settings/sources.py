"""Where a run configuration comes from, and the plugins it selects.

Sources are a preset, a TOML file, the environment and flags; the last one wins.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from wfbench.contract import TrainerSpec, UsageError
from wfbench.host import values
from wfbench.host.manager import PluginHost
from wfbench.host.options import all_options
from wfbench.settings.config import (
    JOINT,
    JOINT_ONLY,
    PER_ORDER,
    PER_ORDER_ONLY,
    PRESETS,
    SETTINGS,
    RunConfig,
)
from wfbench.settings.selection import Choice, format_selector, mismatch, parse_selector, select

_PREFIX = "WFBENCH_RUN_"
_BY_KEY = {setting.key: setting for setting in SETTINGS.values()}


@dataclass(frozen=True)
class ConfigSource:
    """What one source sets: typed values by field, and options by plugin."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    preset: str | None = None


@dataclass(frozen=True)
class ResolvedConfig:
    """The configuration of a run, and which source set what."""

    config: RunConfig
    options: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, str]
    """By field, for every field that some source set."""
    option_sources: Mapping[str, str]
    """By `plugin.option`."""


def read_file(path: Path) -> ConfigSource:
    """Read the settings of a TOML file: its keys, `preset`, and `[options.PLUGIN]`."""
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
        typed[setting.field] = setting.typed(value, f"--config {path}: {key}")
    return ConfigSource(str(path), typed, options, preset)


def read_environment(environ: Mapping[str, str]) -> ConfigSource:
    """Read the variables `WFBENCH_RUN_<KEY>`; spaces separate the items of a list."""
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
    return ConfigSource("environment", typed, preset=environ.get(f"{_PREFIX}PRESET"))


def resolve(sources: Iterable[ConfigSource]) -> ResolvedConfig:
    """Merge sources; later ones win, and all of them win over the last preset named."""
    given = list(sources)
    preset = next((source.preset for source in reversed(given) if source.preset is not None), None)
    if preset is not None:
        if preset not in PRESETS:
            raise UsageError(f"there is no preset {preset!r}; choose from {', '.join(PRESETS)}")
        given.insert(0, ConfigSource(f"preset {preset}", PRESETS[preset]))
    settled: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {}
    set_by: dict[str, str] = {}
    option_sources: dict[str, str] = {}
    for source in given:
        _forget_overridden(settled, options, source)
        settled |= source.values
        set_by |= dict.fromkeys(source.values, source.name)
        for plugin, chosen in source.options.items():
            options.setdefault(plugin, {}).update(chosen)
            option_sources |= {f"{plugin}.{key}": source.name for key in chosen}
    kept = {plugin: chosen for plugin, chosen in options.items() if chosen}
    return ResolvedConfig(RunConfig(**settled), kept, set_by, option_sources)


def select_run(host: PluginHost, resolved: ResolvedConfig) -> dict[str, tuple[Choice, ...]]:
    """Return the choices of every kind; raise UsageError if they or the settings do not fit."""
    wanted: dict[str, tuple[str, ...]] = {}
    shared: dict[str, dict[str, Any]] = {}
    for name, setting in SETTINGS.items():
        value = getattr(resolved.config, name)
        if setting.kind:
            wanted[setting.kind] = _selectors(value)
        if setting.role:
            shared.setdefault(setting.role, {})[name] = value
    chosen = select(host, wanted, resolved.options, shared)
    for name, source in resolved.sources.items():
        if not source.startswith("preset "):
            _refuse_unread(name, source, chosen)
            _refuse_other_training(name, source, resolved.config)
    for env, collector in product(chosen["env"], chosen["collector"]):
        reason = mismatch(collector, env)
        if reason is not None:
            raise UsageError(reason)
    return chosen


def _refuse_unread(name: str, source: str, chosen: Mapping[str, tuple[Choice, ...]]) -> None:
    """Refuse a setting that no plugin reads; a trainer may have its own `update_every`."""
    setting = SETTINGS[name]
    role = setting.role or "trainer"
    specs = [choice.spec for choice in chosen.get(role, ())]
    reader = f"{role} {', '.join(spec.name for spec in specs)}"
    start = f"{setting.key} is set ({source}), but {reader}"
    if setting.role and not any(name == o.name for spec in specs for o in all_options(spec)):
        raise UsageError(f"{start} does not read it; leave it out")
    paced = [spec for spec in specs if isinstance(spec, TrainerSpec) and spec.cadence.steps]
    if name == "update_every" and paced == specs:
        raise UsageError(f"{start} has its own; leave it out, or choose another trainer")


def _refuse_other_training(name: str, source: str, config: RunConfig) -> None:
    """Refuse a setting that this kind of training does not read."""
    unread, other = (PER_ORDER_ONLY, PER_ORDER) if config.joint else (JOINT_ONLY, JOINT)
    if name in unread:
        raise UsageError(
            f"{SETTINGS[name].key} is set ({source}), but training={config.training} does not read "
            f"it; leave it out, or add --training {other}"
        )


def _forget_overridden(
    settled: dict[str, Any], options: dict[str, dict[str, Any]], source: ConfigSource
) -> None:
    """Drop an earlier value of an option that this source sets in the other notation."""
    for name in (name for name, setting in SETTINGS.items() if setting.kind):
        for selector in _selectors(source.values.get(name, ())):
            plugin, parts = parse_selector(selector)
            for key, _ in parts:
                options.get(plugin, {}).pop(key or "", None)
        if name in settled:
            kept = [_without(selector, source.options) for selector in _selectors(settled[name])]
            settled[name] = kept[0] if isinstance(settled[name], str) else tuple(kept)


def _selectors(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _without(selector: str, options: Mapping[str, Mapping[str, Any]]) -> str:
    plugin, parts = parse_selector(selector)
    overridden = options.get(plugin, {})
    return format_selector(plugin, [(k, v) for k, v in parts if k not in overridden])
