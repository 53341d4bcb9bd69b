"""A run as plain lines for logs and pipes, and as JSON lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from time import monotonic
from typing import Any

from wfbench.report.run_plan import RunPlan, judged_name
from wfbench.report.written import duration, fixed
from wfbench.store.event_log import plain

_SILENCE = 20.0
"""Seconds after which a long workflow says how it is doing."""

Event = Mapping[str, Any]


class PlainLines:
    """One line per workflow, and one now and then while a long one goes on."""

    def __init__(self, label: str = "") -> None:
        self._label = f"{label}: " if label else ""
        self._plan = RunPlan()
        self._finished = 0
        self._said: frozenset[str] = frozenset()
        self._began = self._spoke = monotonic()

    def __call__(self, event: Event) -> None:
        """Print what a person following a log wants to know."""
        line = self._line(event)
        if line is not None:
            self._spoke = monotonic()
            says = [one for one in event.get("says", ()) if one not in self._said]
            self._said |= frozenset(says)
            for one in (line, *(f"    {new}" for new in says)):
                sys.stdout.write(f"{self._label}{one}\n")
            sys.stdout.flush()

    def _line(self, event: Event) -> str | None:
        kind = event["event"]
        if kind in {"run-started", "run-resumed"}:
            self._plan, self._finished = RunPlan.of(event), event.get("finished", 0)
            verb = "resuming" if kind == "run-resumed" else "run"
            return (
                f"{verb} {event['run']}: {event['env']}, {event['collector']}, {event['trainer']}, "
                f"{event['searcher']}, seed {event['seed']}, compliance by {event['definition']}"
            )
        if kind == "warning":
            return f"warning: {event['text']}"
        if kind in {"update", "workflow-finished"}:
            self._plan.take(event)
            self._finished += kind == "workflow-finished"
        silent = kind == "update" and monotonic() - self._spoke < _SILENCE
        if silent or kind not in {"update", "workflow-finished", "worker-lost"}:
            return None
        return self._training(event)

    def _training(self, event: Event) -> str:
        """Return how a training goes on or has ended."""
        kind = event["event"]
        start = f"[{event['workflow'] + 1}/{self._plan.workflows}] {self._plan.label(event)}  "
        if kind == "worker-lost":
            return f"{start}lost ({event['cause']}), will be retried"
        if self._plan.joint:
            return start + self._joint(event)
        start += f"compliance {fixed(event['compliance'])} "
        if kind == "workflow-finished":
            return start + _finished(event)
        return f"{start} return {fixed(event['return'], 1)}  {event['env_steps']:,} steps so far"

    def _joint(self, event: Event) -> str:
        """Return an update or the end of a training of a joint run."""
        steps, ended = event["env_steps"], event["event"] == "workflow-finished"
        choices = f"{fixed(event['counted'], 1)} choices per episode"
        line = (
            f"{judged_name(event['definition'])} {fixed(event['compliance'])} of {choices}  "
            f"return {fixed(event['score' if ended else 'return'], 1)}  {steps:,} steps"
        )
        if ended:
            return line if event["reason"] == "episodes" else f"{line}  ended by {event['reason']}"
        share = self._plan.share(self._finished, self._plan.current(event))
        left = self._plan.left(monotonic() - self._began, share)
        return line + (f"  about {duration(left)} left" if left is not None else " so far")


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
