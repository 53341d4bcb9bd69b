"""Searches over orders with chosen results read as they did, alone and side by side.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from known_pages import page

from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.report.sections.matrix import matrix_section, side_by_side
from wfbench.report.sections.search import search_section
from wfbench.search.history import RecordedSearch, read_search

KEPT = Path(__file__).parents[2] / "formats" / "data" / "search-2"
FOLLOWED = {"compliant": True, "status": "compliant", "reason": "threshold", "compliance": 1.0}
BROKEN = {"status": "hopeless", "reason": "not-finite", "score": None, "best": False}
GIVEN_UP = {"status": "hopeless", "reason": "collapsed", "compliance": None}
Events = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are named without the folder that they are in."""
    monkeypatch.chdir(tmp_path)


def _altered(
    name: str,
    results: Mapping[int, Mapping[str, Any]],
    change: Callable[[Events], Events] = lambda events: events,
    **settings: Any,
) -> RecordedSearch:
    """Return a copy of the kept search with other results by workflow, and other settings."""
    run = Path(shutil.copytree(KEPT, name))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    for event in events:
        if event["event"] == "workflow-finished":
            event |= {"inherited_from": None, **results.get(event["workflow"], {})}
    lines = "".join(f"{json.dumps(one)}\n" for one in change(events))
    (run / "events.jsonl").write_text(lines)
    config = json.loads((run / "config.json").read_text())
    config |= {"run": name, "smoke": settings.pop("smoke", False)}
    config["settings"] |= settings
    (run / "config.json").write_text(json.dumps(config))
    return read_search(run)


def _again(events: Events) -> Events:
    """Let the last workflow train the order of the one before, several at once."""
    named = ("order", "order_index", "permutation")
    before = next(e for e in events if e["event"] == "workflow-finished" and e["workflow"] == 1)
    for event in events:
        event["time"]["elapsed"] /= 64
        if event.get("workflow") == 2:
            event |= {key: before[key] for key in named if key in event}
    return events


def _failed(events: Events) -> Events:
    """Let the last workflow fail and the run break off, with a warning."""
    *kept, last, _ = events
    shared = ("workflow", "order", "order_index", "permutation", "time", "env_steps_spent")
    failed = {"event": "workflow-failed", "definition": "effective@2", "cause": "worker 0 died"}
    failed |= {key: last[key] for key in shared}
    told = {key: last[key] for key in ("time", "env_steps_spent")}
    return [*kept, {"event": "warning", "text": "look out", **told}, failed]


def _runs() -> dict[str, RecordedSearch]:
    other = {"seed": 1, "lr": 0.01, "n_envs": 8, "threshold": 0.5, "gamma": 0.5, "clip": 0.1}
    return {
        "good": _altered("good", {0: FOLLOWED, 2: {"score": -16.0}}, _again),
        "bad": _altered("bad", {0: BROKEN, 1: GIVEN_UP}, _failed, **other),
        "smoke": _altered("smoke", {2: FOLLOWED}, smoke=True, score="evaluate:5", seed=2),
        "begun": _altered("begun", {}, lambda events: events[:6], seed=3),
    }


def test_searches_with_chosen_results_read_as_they_did(golden: Callable[[str, str], None]) -> None:
    host = load_plugins(PluginSettings(external=False))
    runs = _runs()
    sections = [search_section(one, host) for one in runs.values()]
    sections += [search_section(one, host, brief=True) for one in runs.values()]
    none = _altered("none", {}, lambda events: events[:1])
    sections += [search_section(none, host, brief=brief) for brief in (False, True)]
    golden("searches.md", page(*sections))


def test_searches_side_by_side_read_as_they_did(golden: Callable[[str, str], None]) -> None:
    runs = _runs()
    good, bad, smoke, begun = runs.values()
    sections = [
        matrix_section("Unlike", (good, bad)),
        matrix_section("Complete", (good, _altered("same", {}, seed=4)), "as timed"),
        matrix_section("Alike", (good, good), brief=True),
        matrix_section("Alone", (good,)),
        matrix_section("Smoke", (good, smoke)),
        matrix_section("Begun", (begun, good)),
        side_by_side("Named", (smoke, good), ("a", "b"), "as timed"),
    ]
    golden("side-by-side.md", page(*sections))
