"""Policies and checkpoints as files of plain arrays.

`policy.npz` is a frozen policy with what it was trained for. A checkpoint holds the states of
trainer, policy and searcher after a finished workflow.

The file names the code that turns the arrays into a policy. Because a file may come from a
stranger, only code of trusted packages is ever loaded: ours, and those of the loaded plugins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from wfbench.contract import Arrays, Order, Policy, PolicySnapshot, UsageError

from .decoding import decode
from .files import read_arrays, write_arrays

SCHEMA = "policy/1"
CHECKPOINT_SCHEMA = "checkpoint/1"
OURS = "wfbench.policies"


@dataclass(frozen=True)
class PolicyLabel:
    """What a stored policy was trained for."""

    order: Order
    """Empty: it follows any order, which its observations show."""
    units: tuple[str, ...]
    env: str
    """Name of the environment, as a user selects it."""
    env_options: Mapping[str, Any]
    obs_shape: tuple[int, ...]
    num_actions: int
    definition: str
    """Id of the compliance definition it was trained on."""
    trainer: str
    run: str
    workflow: int
    score: float | None
    compliance: float | None
    stage: str = "order"
    """What its training was for: `joint`, `free`, `specialised` or `order`."""


@dataclass(frozen=True)
class StoredPolicy:
    """A policy as it is stored."""

    snapshot: PolicySnapshot
    label: PolicyLabel

    def policy(self, trusted: Collection[str] = ()) -> Policy:
        """Return the policy, if the code that restores it is ours or of a `trusted` package."""
        module = self.snapshot.restore.partition(":")[0]
        if module != OURS and module.partition(".")[0] not in trusted:
            raise UsageError(
                f"the policy is restored by {self.snapshot.restore}, which is neither wfbench's "
                "nor a loaded plugin's; install the plugin it comes from, if you trust it"
            )
        return self.snapshot.policy()


def policy_meta(stored: StoredPolicy) -> dict[str, Any]:
    """Return everything of a stored policy that is not an array."""
    return {
        "schema": f"wfbench/{SCHEMA}",
        "restore": stored.snapshot.restore,
        "version": stored.snapshot.version,
        **asdict(stored.label),
    }


def write_policy(path: Path, stored: StoredPolicy) -> None:
    """Write `policy.npz`."""
    write_arrays(path, stored.snapshot.arrays, policy_meta(stored))


def read_policy(path: Path) -> StoredPolicy:
    """Read `policy.npz` without running any code from it."""
    arrays, meta = read_arrays(path, SCHEMA)
    return policy_from(arrays, meta, path)


def policy_from(arrays: Mapping[str, Any], meta: Mapping[str, Any], path: Path) -> StoredPolicy:
    """Return the stored policy that arrays and meta describe."""
    names = [field.name for field in fields(PolicyLabel)]
    label = decode(PolicyLabel, {n: meta[n] for n in names if n in meta}, str(path))
    restore, version = meta.get("restore"), meta.get("version")
    if not isinstance(restore, str) or not isinstance(version, int):
        raise UsageError(f"{path} does not say how to restore the policy from its arrays")
    return StoredPolicy(PolicySnapshot(restore, version, dict(arrays)), label)


@dataclass(frozen=True)
class Checkpoint:
    """The state after a workflow was told to the searcher."""

    workflow: int
    trainer: Arrays
    policy: StoredPolicy
    searcher: Mapping[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically."""
    arrays = {f"trainer/{name}": np.asarray(a) for name, a in checkpoint.trainer.items()}
    arrays |= {f"policy/{name}": a for name, a in checkpoint.policy.snapshot.arrays.items()}
    meta = {
        "schema": f"wfbench/{CHECKPOINT_SCHEMA}",
        "workflow": checkpoint.workflow,
        "policy": policy_meta(checkpoint.policy),
        "searcher": dict(checkpoint.searcher),
    }
    write_arrays(path, arrays, meta)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint without running any code from it."""
    arrays, meta = read_arrays(path, CHECKPOINT_SCHEMA)
    policy = {name[7:]: a for name, a in arrays.items() if name.startswith("policy/")}
    trainer = {name[8:]: a for name, a in arrays.items() if name.startswith("trainer/")}
    return Checkpoint(
        workflow=int(meta["workflow"]),
        trainer=trainer,
        policy=policy_from(policy, meta["policy"], path),
        searcher=meta["searcher"],
    )
