"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, hookimpl

from .options import ParallelOptions

_LOST = "what ends a worker is left on standard error, and while building also which one"
_CANNOT = {
    **dict.fromkeys(("raising", "hostile-exceptions", "base-exception"), _LOST),
    **dict.fromkeys(("constructor-raises", "constructor-exits"), _LOST),
    "constructor-hangs": "building has no timeout in TorchRL: open waits forever",
    "reported-kill": "TorchRL ends an environment that hangs in close without a word",
    "nothing-global": "TorchRL changes the search path of modules when it is imported",
    "modest-workers": "workers have the caller's environment variables, so as many threads",
}
"""What the library does not keep and this plugin does not hide, by the kit's names."""


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Return the collectors `torchrl-parallel` and `torchrl-collector`."""
    return [
        CollectorSpec(
            name="torchrl-parallel",
            summary="TorchRL's ParallelEnv: a worker process per environment, tensors shared",
            factory="wfbench_torchrl.loading:parallel",
            options=ParallelOptions,
            positional="start_method",
            capabilities=frozenset({"deterministic", "workers", "reset"}),
            cannot=_CANNOT,
        ),
        CollectorSpec(
            name="torchrl-collector",
            summary="TorchRL's Collector over its ParallelEnv: the library makes whole rollouts",
            factory="wfbench_torchrl.loading:collector",
            options=ParallelOptions,
            positional="start_method",
            capabilities=frozenset({"deterministic", "workers", "reset"}),
            cannot=_CANNOT,
        ),
    ]
