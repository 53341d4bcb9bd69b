"""What this plugin offers. Imported whenever wfbench starts, so it does not import Ray."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, ExecutorSpec, hookimpl

from .options import CollectorOptions, ExecutorOptions

_DIED = "Ray says that an actor died, but neither in which environment nor why"
_LEFT = "Ray leaves a descriptor open with every connection that it ends"
_KILLED = "an actor is ended by killing it: its environments are not closed"
_CANNOT = {
    **dict.fromkeys(("constructor-exits", "killed", "crashed"), _DIED),
    **dict.fromkeys(("closed-environments", "reported-kill"), _KILLED),
    **dict.fromkeys(("clean-close", "clean-failed-open"), _LEFT),
    "nothing-global": "Ray sets environment variables of the process that starts it",
    "modest-workers": "Ray sets OMP_NUM_THREADS and no other variable for libraries with threads",
}
"""What Ray does not keep and this plugin does not hide, by the kit's names."""


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Return the collector `ray`."""
    return [
        CollectorSpec(
            name="ray",
            summary="Ray actors with slices of the environments and their own copy of the policy",
            factory="wfbench_ray.collector:RayCollector",
            options=CollectorOptions,
            positional="workers",
            capabilities=frozenset({"deterministic", "workers"}),
            cannot=_CANNOT,
        )
    ]


@hookimpl
def wfbench_executors() -> list[ExecutorSpec]:
    """Return the executor `ray`."""
    return [
        ExecutorSpec(
            name="ray",
            summary="On a Ray cluster, or on one of this machine's own",
            factory="wfbench_ray.executor:RayExecutor",
            options=ExecutorOptions,
            positional="address",
        )
    ]
