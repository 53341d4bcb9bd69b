"""Check the working tree of the project in the current folder against another revision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from wfbench.benchmarks.revisions.asking import in_both, named_requests, own_requests
from wfbench.benchmarks.revisions.building import build, find_project
from wfbench.benchmarks.revisions.model import Pair, Request
from wfbench.benchmarks.revisions.pairs import Place
from wfbench.benchmarks.revisions.series import (
    AGAIN,
    Effort,
    RevisionCheck,
    Watch,
    compare_revisions,
    side_by_side,
)
from wfbench.host.manager import PluginSettings
from wfbench.store.event_log import EventLog
from wfbench.store.files import writing
from wfbench.store.machine import fingerprint

__all__ = ["AGAIN", "check_against"]

PAIRS_FILE = "pairs.jsonl"


def check_against(
    revision: str,
    *,
    requests: Sequence[Request],
    like: Request,
    effort: Effort,
    out: Path,
    plugins: PluginSettings,
    watch: Watch | None = None,
) -> RevisionCheck:
    """Build both, measure them side by side, judge, and keep every pair in `out`.

    Without `requests` each collector of the project is measured as `like` says.
    """
    project = find_project(Path.cwd())
    project.commit(revision)
    new = build(project, None)
    old = build(project, revision)
    places = Place(old.path, plugins), Place(new.path, plugins)
    if requests:
        asked = named_requests(new, places[1], requests)
    else:
        asked = own_requests(new, places[1], like)
    asked, missing = in_both(asked, old, places[0], strict=bool(requests))
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    log = EventLog(out / PAIRS_FILE)
    try:

        def record(request: Request, pair: Pair) -> None:
            log.append({"schema": "wfbench/pair/1", "label": request.label, **asdict(pair)})
            if watch is not None:
                watch(request, pair)

        found = compare_revisions(asked, (old, new), effort, side_by_side(places, effort, record))
    finally:
        log.close()
    notes = (*missing, *found.notes)
    return replace(found, notes=notes, machine=fingerprint())
