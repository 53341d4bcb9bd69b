"""The bundled executors, as descriptors."""

from __future__ import annotations

from wfbench.contract import ExecutorSpec, hookimpl

from .options import ProcessesOptions


@hookimpl
def wfbench_executors() -> list[ExecutorSpec]:
    """Return the executors local and processes."""
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
