"""Write what happens in a run for TensorBoard.

An observer implements the hooks it needs; it has no descriptor. This module is imported whenever
wfbench starts, so it imports TensorBoard only when there is something to write.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from wfbench.contract import Event, hookimpl

if TYPE_CHECKING:
    from .curves import Curves

DIRECTORY_VARIABLE = "WFBENCH_TENSORBOARD_DIR"
"""Directory for event files, with one per run; default: `tensorboard/` in each run's directory."""

_open: dict[str, Curves | None] = {}
"""By run; None: its files could not be written, which was reported once."""


@hookimpl
def wfbench_run_started(event: Event) -> None:
    """Begin the event file of a run."""
    _curves(event)


@hookimpl
def wfbench_update_finished(event: Event) -> None:
    """Add a point to each curve of the training, at the environment steps spent so far."""
    if curves := _curves(event):
        curves.add_update(event.values)


@hookimpl
def wfbench_workflow_finished(event: Event) -> None:
    """Add a point to each curve of the search, at the number of the workflow."""
    if curves := _curves(event):
        curves.add_workflow(event.values)


@hookimpl
def wfbench_run_finished(event: Event) -> None:
    """End the event file of a run."""
    if curves := _open.pop(event.run_id, None):
        curves.close()


def _curves(event: Event) -> Curves | None:
    """Return the curves of the event's run, opened if needed; None if they cannot be written."""
    folder = _folder(event)
    if event.run_id not in _open and folder is not None:
        from .curves import Curves

        _open[event.run_id] = None
        _open[event.run_id] = Curves(folder)
    return _open.get(event.run_id)


def _folder(event: Event) -> Path | None:
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen) / event.run_id
    return Path(event.directory) / "tensorboard" if event.directory else None
