"""The run configuration as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wfbench import values
from wfbench.config import SETTINGS
from wfbench.layers import Effective
from wfbench.report.console import console, plain_table
from wfbench.selection import Choice

Chosen = Mapping[str, tuple[Choice, ...]]


def show_config(effective: Effective, chosen: Chosen) -> None:
    """Every setting with its value; where it differs, the default and who changed it."""
    out = console()
    table = plain_table("setting", "value", "default", "set by")
    for name, setting in SETTINGS.items():
        value = getattr(effective.config, name)
        source = effective.sources.get(name, "")
        default = values.to_text(setting.default) if value != setting.default else ""
        style = "bold" if default else None
        table.add_row(setting.key, values.to_text(value), default, source, style=style)
    for plugin, options in effective.options.items():
        for key, value in options.items():
            name = f"{plugin}.{key}"
            table.add_row(name, values.to_text(value), "", effective.option_sources[name])
    out.print(table)
    for kind, choices in chosen.items():
        for choice in choices:
            given = ", ".join(f"{k}={values.to_text(v)}" for k, v in choice.options.items())
            line = f"{kind} {choice.spec.name} ({choice.offer.source}): {given or 'no options'}"
            out.print(line, soft_wrap=True)


def config_json(effective: Effective, chosen: Chosen) -> dict[str, Any]:
    """The same as `show_config`, as JSON values."""
    settings = {s.key: getattr(effective.config, name) for name, s in SETTINGS.items()}
    return {
        "config": settings,
        "options": effective.options,
        "differs": {
            setting.key: {
                "value": getattr(effective.config, name),
                "default": setting.default,
                "set_by": effective.sources[name],
            }
            for name, setting in SETTINGS.items()
            if getattr(effective.config, name) != setting.default
        },
        "plugins": {
            kind: [{"label": c.label, "options": dict(c.options)} for c in choices]
            for kind, choices in chosen.items()
        },
    }
