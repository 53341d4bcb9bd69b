"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import TrainerSpec, hookimpl

from .options import PpoOptions


@hookimpl
def wfbench_trainers() -> list[TrainerSpec]:
    """Return the trainer `cleanrl-ppo`."""
    return [
        TrainerSpec(
            name="cleanrl-ppo",
            summary="PPO in the style of CleanRL: plain torch, every row through the networks",
            factory="wfbench_cleanrl.ppo:CleanPpo",
            options=PpoOptions,
        )
    ]
