"""A run as plain lines for logs and pipes, and as JSON lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from time import monotonic
from typing import Any

from wfbench.report.written import fixed
from wfbench.store.event_log import plain

_SILENCE = 20.0
"""Seconds after which a long workflow says how it is doing."""

Event = Mapping[str, Any]


class PlainLines:
    """One line per workflow, and one now and then while a long one goes on."""

    def __init__(self, label: str = "") -> None:
        self._label = f"{label}: " if label else ""
        self._workflows = 0
        self._spoke = monotonic()

    def __call__(self, event: Event) -> None:
        """Print what a person following a log wants to know."""
        line = self._line(event)
        if line is not None:
            self._spoke = monotonic()
            for one in (line, *(f"    {says}" for says in event.get("says", ()))):
                sys.stdout.write(f"{self._label}{one}\n")
            sys.stdout.flush()

    def _line(self, event: Event) -> str | None:
        kind = event["event"]
        if kind in {"run-started", "run-resumed"}:
            self._workflows = event["workflows"]
            verb = "resuming" if kind == "run-resumed" else "run"
            return (
                f"{verb} {event['run']}: {event['env']}, {event['collector']}, {event['trainer']}, "
                f"{event['searcher']}, seed {event['seed']}, compliance by {event['definition']}"
            )
        if kind == "warning":
            return f"warning: {event['text']}"
        silent = kind == "update" and monotonic() - self._spoke < _SILENCE
        if silent or kind not in {"update", "workflow-finished", "worker-lost"}:
            return None
        start = f"[{event['workflow'] + 1}/{self._workflows}] {event['order']}  "
        if kind == "worker-lost":
            return f"{start}lost ({event['cause']}), will be retried"
        start += f"compliance {fixed(event['compliance'])} "
        if kind == "workflow-finished":
            return start + _finished(event)
        return f"{start} return {fixed(event['return'], 1)}  {event['env_steps']:,} steps so far"


def _finished(event: Event) -> str:
    end = event["status"]
    if end != "compliant":
        end = f"{end} ({event['reason']})"
    best = "  best so far" if event["best"] else ""
    return (
        f"({event['secondary'].partition('@')[0]} {fixed(event['secondary_compliance'])})  "
        f"return {fixed(event['score'], 1)}  {event['updates']} updates, "
        f"{event['env_steps']:,} steps  {end}{best}"
    )


def print_event(event: Event) -> None:
    """Print an event as one JSON object on a line of standard output."""
    line = json.dumps({"run": event["run"], **plain(event)}, ensure_ascii=False)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
