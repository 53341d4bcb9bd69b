"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import TrainerSpec, hookimpl

from .options import PpoOptions


@hookimpl
def wfbench_trainers() -> list[TrainerSpec]:
    """Return the trainer `rllib-ppo`."""
    return [
        TrainerSpec(
            name="rllib-ppo",
            summary="RLlib's PPO learner on the shaped reward, order code in the observation",
            factory="wfbench_rllib.ppo:RllibPpo",
            options=PpoOptions,
        )
    ]
