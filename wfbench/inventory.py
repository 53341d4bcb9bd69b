"""The plugins of an installation as rows: what is on offer, what is broken, what was left out."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.discovery import Source
from wfbench.plugins import PluginHost

KINDS = (
    "env",
    "collector",
    "trainer",
    "searcher",
    "executor",
    "reporter",
    "claim",
    "health-check",
    "command",
)


@dataclass(frozen=True)
class Row:
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


def inventory(host: PluginHost) -> list[Row]:
    """Every plugin that was found: usable ones by kind and name, then broken and blocked ones."""
    offers = sorted(host.offers(), key=lambda o: (KINDS.index(o.spec.kind), o.spec.name))
    rows = [_row(o.spec.kind, o.spec.name, o.spec.summary, "ok", o.source) for o in offers]
    offering = {offer.source for offer in offers}
    rows += [
        _row("observer", source.plugin, "Watches runs", "ok", source)
        for source in host.loaded
        if source not in offering
    ]
    rows += [_row("plugin", b.source.plugin, "", "broken", b.source, b.cause) for b in host.broken]
    rows += [
        _row("plugin", source.plugin, "", "blocked", source, "not to be loaded")
        for source in host.blocked
    ]
    return rows


def _row(kind: str, name: str, summary: str, status: str, source: Source, cause: str = "") -> Row:
    return Row(
        kind,
        name,
        summary,
        status,
        source.plugin,
        source.distribution,
        source.version,
        source.file,
        cause,
    )
