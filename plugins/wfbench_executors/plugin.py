"""What this plugin offers."""

from __future__ import annotations

from wfbench.contract import ExecutorSpec, hookimpl

from .options import ProcessesOptions


@hookimpl
def wfbench_executors() -> list[ExecutorSpec]:
    """This process, and others on this machine."""
    return [
        ExecutorSpec(
            name="local",
            summary="In this process, one order after the other",
            factory="wfbench_executors.local:LocalExecutor",
        ),
        ExecutorSpec(
            name="processes",
            summary="In worker processes on this machine, an order each",
            factory="wfbench_executors.processes:ProcessesExecutor",
            options=ProcessesOptions,
            positional="workers",
        ),
    ]
