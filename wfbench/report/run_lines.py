"""A run as plain lines, for logs and pipes, and as JSON lines, for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from wfbench.store.event_log import plain

_SILENCE = 20.0
"""Seconds after which a long workflow says how it is doing."""

Event = Mapping[str, Any]


def number(value: Any, digits: int = 2) -> str:
    """A number as a person reads it; `-` if there is none."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return "-"
    return f"{value:,.{digits}f}"


class PlainLines:
    """One line per workflow, and one now and then while a long one goes on."""

    def __init__(self, label: str = "") -> None:
        self._label = f"{label}: " if label else ""
        self._workflows = 0
        self._spoke = monotonic()

    def __call__(self, event: Event) -> None:
        """Print what a person following a log wants to know."""
        say: dict[str, Callable[[Event], str | None]] = {
            "run-started": self._begun,
            "run-resumed": self._begun,
            "update": self._going_on,
            "workflow-finished": self._finished,
            "worker-lost": self._lost,
            "warning": lambda told: f"warning: {told['text']}",
        }
        told = say.get(event["event"])
        line = None if told is None else told(event)
        if line is not None:
            self._spoke = monotonic()
            sys.stdout.write(f"{self._label}{line}\n")
            sys.stdout.flush()

    def _begun(self, event: Event) -> str:
        self._workflows = event["workflows"]
        verb = "resuming" if event["event"] == "run-resumed" else "run"
        return (
            f"{verb} {event['run']}: {event['env']}, {event['collector']}, {event['trainer']}, "
            f"{event['searcher']}, seed {event['seed']}, compliance by {event['definition']}"
        )

    def _going_on(self, event: Event) -> str | None:
        if monotonic() - self._spoke < _SILENCE:
            return None
        return (
            f"{self._count(event)} {event['order']}  compliance {number(event['compliance'])}  "
            f"return {number(event['return'], 1)}  {event['env_steps']:,} steps so far"
        )

    def _finished(self, event: Event) -> str:
        end = event["status"]
        if end != "compliant":
            end = f"{end} ({event['reason']})"
        best = "  best so far" if event["best"] else ""
        return (
            f"{self._count(event)} {event['order']}  compliance {number(event['compliance'])} "
            f"({event['beside'].partition('@')[0]} {number(event['beside_compliance'])})  "
            f"return {number(event['score'], 1)}  {event['updates']} updates, "
            f"{event['env_steps']:,} steps  {end}{best}"
        )

    def _lost(self, event: Event) -> str:
        return f"{self._count(event)} {event['order']}  lost ({event['cause']}), trained again"

    def _count(self, event: Event) -> str:
        return f"[{event['workflow'] + 1}/{self._workflows}]"


class JsonLines:
    """Every event as one JSON object per line on standard output."""

    def __init__(self, run: str) -> None:
        self._run = run

    def __call__(self, event: Event) -> None:
        """Print one event."""
        line = json.dumps({"run": self._run, **plain(event)}, ensure_ascii=False)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
