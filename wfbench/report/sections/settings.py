"""The installation: the configuration of a run, and the health of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.host import values
from wfbench.host.doctor import HealthFinding
from wfbench.report.document import Check, Section
from wfbench.settings.config import SETTINGS
from wfbench.settings.selection import Choice
from wfbench.settings.sources import ResolvedConfig

from .common import list_section, table

Chosen = Mapping[str, tuple[Choice, ...]]


def config_section(resolved: ResolvedConfig, chosen: Chosen) -> Section:
    """Return every setting with its value; where it differs, the default and who changed it."""
    rows = []
    changed = 0
    for name, setting in SETTINGS.items():
        value = getattr(resolved.config, name)
        default = values.to_text(setting.default) if value != setting.default else ""
        changed += bool(default)
        source = resolved.sources.get(name, "")
        rows.append((setting.key, values.to_text(value), default, source))
    for plugin, options in resolved.options.items():
        for key, value in options.items():
            name = f"{plugin}.{key}"
            rows.append((name, values.to_text(value), "", resolved.option_sources[name]))
    notes = []
    for kind, choices in chosen.items():
        for choice in choices:
            given = ", ".join(f"{k}={values.to_text(v)}" for k, v in choice.options.items())
            name = f"{kind} {choice.spec.name} ({choice.offer.source})"
            notes.append(f"{name}: {given or 'no options'}")
    says = f"{changed} of {len(SETTINGS)} settings differ"
    shown = table("setting | value | default | set by", rows)
    return list_section("config", "Configuration", "good", says, shown, notes=tuple(notes))


def config_data(resolved: ResolvedConfig, chosen: Chosen) -> dict[str, Any]:
    """Return the configuration as JSON values."""
    settings, differs = {}, {}
    for name, setting in SETTINGS.items():
        settings[setting.key] = value = getattr(resolved.config, name)
        if value != setting.default:
            changed = {"value": value, "default": setting.default}
            differs[setting.key] = {**changed, "set_by": resolved.sources[name]}
    return {
        "config": settings,
        "options": resolved.options,
        "differs": differs,
        "plugins": {
            kind: [{"label": c.label, "options": dict(c.options)} for c in choices]
            for kind, choices in chosen.items()
        },
    }


def doctor_section(findings: Sequence[HealthFinding]) -> Section:
    """Return what each health check found, and how to repair what is wrong."""
    checks = []
    for one in findings:
        remedy = f"; to repair: {one.remedy}" if one.remedy else ""
        checks.append(Check(one.name, "good" if one.ok else "bad", one.message + remedy))
    rows = [(one.name, "ok" if one.ok else "bad", one.message) for one in findings]
    bad = sum(not one.ok for one in findings)
    says = f"{bad} of {len(checks)} checks failed" if bad else f"all {len(checks)} checks passed"
    return list_section(
        "doctor",
        "Doctor",
        "bad" if bad else "good",
        says,
        table("check | result | found", rows),
        checks=tuple(checks),
        notes=tuple(f"fixed {one.name}: {one.fixed}" for one in findings if one.fixed),
    )
