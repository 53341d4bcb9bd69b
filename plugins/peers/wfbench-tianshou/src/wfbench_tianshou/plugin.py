"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, hookimpl

from .options import SubprocOptions

_LOST = "what ends a worker is left on standard error, and while building also which one"
_NO_TIMEOUTS = "tianshou has no timeouts: it waits forever"
_WORKERS_CANNOT = {
    **dict.fromkeys(("raising", "hostile-exceptions", "base-exception"), _LOST),
    **dict.fromkeys(("hanging", "stopped", "constructor-hangs", "reported-kill"), _NO_TIMEOUTS),
    "modest-workers": "workers have the caller's environment variables, so as many threads",
}
"""What the library does not keep and this plugin does not hide, by the kit's names."""
_SUBPROC_CANNOT = {
    **_WORKERS_CANNOT,
    **dict.fromkeys(("constructor-raises", "constructor-exits", "missing-environment"), _LOST),
}
_SHMEM_CANNOT = {
    **_WORKERS_CANNOT,
    "constructor-exits": "tianshou builds every environment once in the caller's process, too",
}


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Return the collectors `tianshou-dummy`, `tianshou-subproc` and `tianshou-shmem`."""
    return [
        CollectorSpec(
            name="tianshou-dummy",
            summary="tianshou's DummyVectorEnv: one environment after the other in this process",
            factory="wfbench_tianshou.collector:DummyCollector",
            capabilities=frozenset({"deterministic"}),
        ),
        CollectorSpec(
            name="tianshou-subproc",
            summary="tianshou's SubprocVectorEnv: a worker process per environment, by pipes",
            factory="wfbench_tianshou.collector:SubprocCollector",
            options=SubprocOptions,
            positional="start_method",
            capabilities=frozenset({"deterministic", "workers"}),
            cannot=_SUBPROC_CANNOT,
        ),
        CollectorSpec(
            name="tianshou-shmem",
            summary="tianshou's ShmemVectorEnv: a worker process per environment, obs shared",
            factory="wfbench_tianshou.collector:ShmemCollector",
            capabilities=frozenset({"deterministic", "workers"}),
            cannot=_SHMEM_CANNOT,
        ),
    ]
