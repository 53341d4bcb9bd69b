"""The plugins that a run configuration selects, with the settings it hands to them."""

from __future__ import annotations

from typing import Any

from wfbench.config import SETTINGS
from wfbench.contract import TrainerSpec, UsageError
from wfbench.layers import Effective
from wfbench.options import declared_options
from wfbench.plugins import PluginHost
from wfbench.selection import Choice, mismatch, select


def select_run(host: PluginHost, effective: Effective) -> dict[str, tuple[Choice, ...]]:
    """The choices of every kind; a usage error if they do not fit or a setting is read by none."""
    config = effective.config
    wanted: dict[str, tuple[str, ...]] = {}
    shared: dict[str, dict[str, Any]] = {}
    for name, setting in SETTINGS.items():
        value = getattr(config, name)
        if setting.kind:
            wanted[setting.kind] = (value,) if isinstance(value, str) else value
        if setting.role:
            shared.setdefault(setting.role, {})[name] = value
    chosen = select(host, wanted, effective.options, shared)
    _refuse_unread(effective, chosen)
    _refuse_cadence(effective, chosen["trainer"])
    for env in chosen["env"]:
        for collector in chosen["collector"]:
            reason = mismatch(collector, env)
            if reason is not None:
                raise UsageError(reason)
    return chosen


def _refuse_unread(effective: Effective, chosen: dict[str, tuple[Choice, ...]]) -> None:
    """A setting that someone asked for by name must reach a plugin; a preset's may stay unused."""
    for name, source in effective.sources.items():
        setting = SETTINGS[name]
        if not setting.role or source.startswith("preset "):
            continue
        choices = chosen[setting.role]
        if not any(name == o.name for choice in choices for o in declared_options(choice.spec)):
            names = ", ".join(choice.spec.name for choice in choices)
            raise UsageError(
                f"{setting.key} is set ({source}), but {setting.role} {names} does not read it"
            )


def _refuse_cadence(effective: Effective, trainers: tuple[Choice, ...]) -> None:
    """How often to update cannot be said to trainers that all decide it themselves."""
    source = effective.sources.get("update_every", "preset ")
    specs = [choice.spec for choice in trainers]
    fixed = [spec.name for spec in specs if isinstance(spec, TrainerSpec) and spec.cadence.steps]
    if not source.startswith("preset ") and len(fixed) == len(specs):
        raise UsageError(
            f"update_every is set ({source}), but trainer {', '.join(fixed)} has its own; "
            "leave it out, or choose another trainer"
        )
