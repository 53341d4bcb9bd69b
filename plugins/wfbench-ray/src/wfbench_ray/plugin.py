"""What this plugin offers. Imported whenever wfbench starts, so it does not import Ray."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, ExecutorSpec, hookimpl

from .options import CollectorOptions, ExecutorOptions


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """The collector `ray`."""
    return [
        CollectorSpec(
            name="ray",
            summary="Ray actors with slices of the environments and their own copy of the policy",
            factory="wfbench_ray.collector:RayCollector",
            options=CollectorOptions,
            positional="workers",
            capabilities=frozenset({"deterministic", "workers"}),
        )
    ]


@hookimpl
def wfbench_executors() -> list[ExecutorSpec]:
    """The executor `ray`."""
    return [
        ExecutorSpec(
            name="ray",
            summary="On a Ray cluster, or on one of this machine's own",
            factory="wfbench_ray.executor:RayExecutor",
            options=ExecutorOptions,
            positional="address",
        )
    ]
