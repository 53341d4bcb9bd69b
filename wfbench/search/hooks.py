"""Tells plugins that observe runs what happens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wfbench.contract import Event
from wfbench.plugins import PluginHost

_HOOKS = {
    "run-started": "wfbench_run_started",
    "run-resumed": "wfbench_run_started",
    "update": "wfbench_update_finished",
    "workflow-finished": "wfbench_workflow_finished",
    "run-finished": "wfbench_run_finished",
}


class HookObserver:
    """Passes events on to the observer hooks; what a plugin raises there is logged."""

    def __init__(self, host: PluginHost, run: str, directory: Path) -> None:
        self._host = host
        self._run = run
        self._directory = str(directory)
        self._ended = False

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Pass one event on."""
        hook = _HOOKS.get(event["event"])
        if hook is not None:
            self._host.notify(hook, Event(self._run, event, self._directory))
        self._ended = self._ended or event["event"] == "run-finished"

    def stopped(self, cause: str) -> None:
        """Tell that the run ended before its end, unless it had ended."""
        if not self._ended:
            self({"event": "run-finished", "reason": "stopped", "cause": cause})
