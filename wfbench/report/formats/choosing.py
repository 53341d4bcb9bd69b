"""Formats by name: ours, and those of reporter plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wfbench.contract import PluginError, ReporterSpec, UsageError
from wfbench.host.manager import PluginHost
from wfbench.report.document import Report
from wfbench.settings.selection import parse_selector, select
from wfbench.store.event_log import plain

SCHEMA = "report/1"


@dataclass(frozen=True)
class Format:
    """A way to write a report into a file."""

    name: str
    suffix: str
    render: Callable[[Report], str]


def our_formats() -> dict[str, Format]:
    """Return the formats that need no plugin."""
    from .html import render_html
    from .junit import render_junit
    from .markdown import render_markdown
    from .tidy_csv import render_csv

    return {
        "html": Format("html", ".html", render_html),
        "md": Format("md", ".md", render_markdown),
        "csv": Format("csv", ".csv", render_csv),
        "junit": Format("junit", ".xml", render_junit),
    }


def find_format(host: PluginHost, selector: str) -> Format:
    """Return the format a user named: one of ours, or a reporter plugin `NAME[:KEY=VALUE,...]`."""
    ours = our_formats()
    name = parse_selector(selector)[0]
    if name in ours:
        if selector != name:
            raise UsageError(f"{selector!r}: format {name} has no options")
        return ours[name]
    known = {offer.spec.name for offer in host.offers("reporter")}
    if name not in known and not any(name in broken.names for broken in host.broken):
        choices = ", ".join([*ours, *sorted(known)])
        raise UsageError(f"there is no report format {name!r}; choose from: {choices}")
    [choice] = select(host, {"reporter": [selector]})["reporter"]
    spec = choice.spec
    suffix = spec.suffix if isinstance(spec, ReporterSpec) else ""

    def render(report: Report) -> str:
        who = f"reporter {spec.name!r} ({choice.offer.source})"
        reporter = choice.build()
        try:
            text = reporter.render(as_data(report))
        except Exception as error:
            raise PluginError(f"{who} raised {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise PluginError(f"{who} returned {type(text).__name__}, not text")
        return text

    return Format(spec.name, suffix, render)


def as_data(report: Report) -> Mapping[str, Any]:
    """Return the report as strict JSON values; a picture names its kind."""
    data = asdict(report)
    for section, values in zip(report.sections, data["sections"], strict=True):
        for exhibit, drawn in zip(section.exhibits, values["exhibits"], strict=True):
            if exhibit.picture is not None:
                kind = type(exhibit.picture).__name__.lower()
                drawn["picture"] = {"kind": kind, **drawn["picture"]}
    return {"schema": f"wfbench/{SCHEMA}", **plain(data)}
