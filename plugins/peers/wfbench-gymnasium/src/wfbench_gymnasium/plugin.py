"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, EnvSpec, hookimpl

from .options import AsyncOptions, RegisteredOptions

_ASYNC_CANNOT = {
    "constructor-raises": "gymnasium builds environments outside its error handling: the worker "
    "dies and leaves the cause on standard error",
    "constructor-hangs": "building has no timeout in gymnasium: open waits forever",
    "reported-kill": "gymnasium waits forever for an environment that hangs in close",
    "modest-workers": "workers have the caller's environment variables, so as many threads",
}
"""What the library does not keep and this plugin does not hide, by the kit's names."""


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Return the collectors `gym-sync` and `gym-async`."""
    return [
        CollectorSpec(
            name="gym-sync",
            summary="gymnasium's SyncVectorEnv: one environment after the other in this process",
            factory="wfbench_gymnasium.sync:SyncCollector",
            capabilities=frozenset({"deterministic", "reset"}),
        ),
        CollectorSpec(
            name="gym-async",
            summary="gymnasium's AsyncVectorEnv: a worker process per environment",
            factory="wfbench_gymnasium.parallel:AsyncCollector",
            options=AsyncOptions,
            positional="start_method",
            capabilities=frozenset({"deterministic", "workers", "reset"}),
            cannot=_ASYNC_CANNOT,
        ),
    ]


@hookimpl
def wfbench_envs() -> list[EnvSpec]:
    """Return the environment `gymnasium:<id>`."""
    return [
        EnvSpec(
            name="gymnasium",
            summary="any registered environment, for throughput: gymnasium:CartPole-v1",
            factory="wfbench_gymnasium.registered:make",
            options=RegisteredOptions,
            positional="id",
        )
    ]
