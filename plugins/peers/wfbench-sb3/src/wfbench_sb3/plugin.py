"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import CollectorSpec, TrainerSpec, hookimpl

from .options import PpoOptions, SubprocOptions

_CAUSE_LOST = "an exception ends the worker and is left on standard error"
_NO_TIMEOUT = "the library has no timeouts: it waits forever"
_SUBPROC_CANNOT = {
    **dict.fromkeys(
        (
            "missing-environment",
            "raising",
            "hostile-exceptions",
            "base-exception",
            "constructor-raises",
        ),
        _CAUSE_LOST,
    ),
    **dict.fromkeys(("constructor-hangs", "hanging", "stopped", "reported-kill"), _NO_TIMEOUT),
    "modest-workers": "a worker imports the library, and torch with it",
}
"""What the library does not keep and this plugin does not hide, by the kit's names."""


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Return the collectors `sb3-dummy` and `sb3-subproc`."""
    return [
        CollectorSpec(
            name="sb3-dummy",
            summary="Stable-Baselines3's DummyVecEnv: one environment after the other, in process",
            factory="wfbench_sb3.dummy:DummyCollector",
            capabilities=frozenset({"deterministic", "reset"}),
        ),
        CollectorSpec(
            name="sb3-subproc",
            summary="Stable-Baselines3's SubprocVecEnv: a worker process per environment",
            factory="wfbench_sb3.subproc:SubprocCollector",
            options=SubprocOptions,
            positional="start_method",
            capabilities=frozenset({"deterministic", "workers", "reset"}),
            cannot=_SUBPROC_CANNOT,
        ),
    ]


@hookimpl
def wfbench_trainers() -> list[TrainerSpec]:
    """Return the trainer `sb3-ppo`."""
    return [
        TrainerSpec(
            name="sb3-ppo",
            summary="Stable-Baselines3's PPO on the shaped reward, order code in the observation",
            factory="wfbench_sb3.ppo:Sb3Ppo",
            options=PpoOptions,
        )
    ]
