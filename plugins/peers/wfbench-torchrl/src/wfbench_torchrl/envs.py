"""Environments of a plan as TorchRL wants them."""

from __future__ import annotations

import os
import signal
from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.data import Composite, Unbounded
from torchrl.envs import GymWrapper
from torchrl.envs.gym_like import BaseInfoDictReader

from wfbench.collecting.guarded import GuardedEnv
from wfbench.contract import Plan
from wfbench.contract.record import INFO_TYPES


class InfoReader(BaseInfoDictReader):  # type: ignore[misc]  # the library has no types
    """Moves what a rollout needs of `info` into the tensordict of a step."""

    def __init__(self) -> None:
        self._spec = Composite({key: Unbounded((), dtype=torch.int64) for key in INFO_TYPES})

    @property
    def info_spec(self) -> Composite:
        """Return what it adds to an observation."""
        return self._spec

    def __call__(self, info: dict[str, Any], tensordict: TensorDictBase) -> TensorDictBase:
        """Write the values of `info`; 0 where it has none."""
        for key in INFO_TYPES:
            tensordict.set(key, torch.tensor(info.get(key, 0), dtype=torch.int64))
        return tensordict


def make_env(plan: Plan, caller: int, index: int) -> GymWrapper:
    """Return environment `index` of the plan, wrapped by the library.

    In a process other than the caller's, Ctrl-C is left to the caller.
    """
    if os.getpid() != caller:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    env = GymWrapper(GuardedEnv(plan, index, in_process=False), categorical_action_encoding=True)
    return env.set_info_dict_reader(InfoReader())
