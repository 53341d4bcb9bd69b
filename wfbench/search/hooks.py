"""Passes events to plugins that observe runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wfbench.contract import Event
from wfbench.host.manager import PluginHost
from wfbench.store.events import (
    RunFinished,
    RunResumed,
    RunStarted,
    UpdateFinished,
    WorkflowFinished,
)

_HOOKS = {
    RunStarted.kind: "wfbench_run_started",
    RunResumed.kind: "wfbench_run_started",
    UpdateFinished.kind: "wfbench_update_finished",
    WorkflowFinished.kind: "wfbench_workflow_finished",
    RunFinished.kind: "wfbench_run_finished",
}


class HookObserver:
    """Calls the observer hooks; an error in a plugin is logged."""

    def __init__(self, host: PluginHost, run: str, directory: Path) -> None:
        self._host = host
        self._run = run
        self._directory = str(directory)
        self._ended = False

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Pass one event to the plugins."""
        hook = _HOOKS.get(event["event"])
        if hook is not None:
            self._host.notify(hook, Event(self._run, event, self._directory))
        self._ended = self._ended or event["event"] == RunFinished.kind

    def stopped(self, cause: str) -> None:
        """Tell plugins that the run stopped early, unless it had ended."""
        if not self._ended:
            self({"event": RunFinished.kind, "reason": "stopped", "cause": cause})
