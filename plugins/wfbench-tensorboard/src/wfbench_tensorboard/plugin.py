"""Tells TensorBoard what happens in a run.

An observer implements the hooks that it wants to be told through and nothing else; it needs no
descriptor. This module is imported whenever wfbench starts, so TensorBoard is imported only once
there is something to write.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from wfbench.contract import Event, hookimpl

if TYPE_CHECKING:
    from .curves import Curves

DIRECTORY_VARIABLE = "WFBENCH_TENSORBOARD_DIR"
"""Where event files go, a directory per run; not set: `tensorboard/` in each run's directory."""

_open: dict[str, Curves | None] = {}
"""By run; None: its files could not be written, which was said once."""


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
    """The curves of the event's run, begun if need be; None if there is no place for them."""
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
