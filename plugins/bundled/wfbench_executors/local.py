"""Trains one order after the other in this process."""

from __future__ import annotations

from wfbench.processes.in_process import InProcessExecutor


class LocalExecutor(InProcessExecutor):
    """The core's own executor under the name that users select."""
