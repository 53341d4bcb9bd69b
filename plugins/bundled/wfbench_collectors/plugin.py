"""The bundled collectors, as descriptors."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, hookimpl

from .options import AsyncOptions, PipeOptions, ShmOptions, VectorOptions


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Return the collectors sequential, pipe, shm, async and vector."""
    return [
        CollectorSpec(
            name="sequential",
            summary="one environment after the other in this process: the reference",
            factory="wfbench_collectors.sequential:SequentialCollector",
            capabilities=frozenset({"deterministic", "reset"}),
        ),
        CollectorSpec(
            name="pipe",
            summary="a worker process per environment, pickled messages",
            factory="wfbench_collectors.pipe:PipeCollector",
            options=PipeOptions,
            positional="payload",
            capabilities=frozenset({"deterministic", "workers", "restart", "reset"}),
        ),
        CollectorSpec(
            name="shm",
            summary="a worker process per core, shared arrays and a few-byte wake-up",
            factory="wfbench_collectors.shm:ShmCollector",
            options=ShmOptions,
            positional="payload",
            capabilities=frozenset({"deterministic", "workers", "restart", "reset"}),
        ),
        CollectorSpec(
            name="async",
            summary="free-running workers with their own copy of the policy, no step barrier",
            factory="wfbench_collectors.free_running:AsyncCollector",
            options=AsyncOptions,
            positional="max_lag",
            capabilities=frozenset({"workers", "restart", "reset"}),
        ),
        CollectorSpec(
            name="vector",
            summary="the environment's batched form in this process, threads without the GIL",
            factory="wfbench_collectors.vector:VectorCollector",
            options=VectorOptions,
            positional="threads",
            capabilities=frozenset({"deterministic", "reset"}),
        ),
    ]
