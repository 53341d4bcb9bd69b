"""What one finished workflow leaves for later ones: trainer, policy and searcher as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wfbench.contract import Arrays

from .files import read_arrays, write_arrays
from .policy_file import StoredPolicy, policy_from, policy_meta

SCHEMA = "checkpoint/1"


@dataclass(frozen=True)
class Checkpoint:
    """The state after a workflow was told to the searcher."""

    workflow: int
    trainer: Arrays
    policy: StoredPolicy
    searcher: Mapping[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; the file is whole or not there."""
    arrays = {f"trainer/{name}": np.asarray(a) for name, a in checkpoint.trainer.items()}
    arrays |= {f"policy/{name}": a for name, a in checkpoint.policy.snapshot.arrays.items()}
    meta = {
        "schema": f"wfbench/{SCHEMA}",
        "workflow": checkpoint.workflow,
        "policy": policy_meta(checkpoint.policy),
        "searcher": dict(checkpoint.searcher),
    }
    write_arrays(path, arrays, meta)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; nothing of it is run."""
    arrays, meta = read_arrays(path, SCHEMA)
    policy = {name[7:]: a for name, a in arrays.items() if name.startswith("policy/")}
    trainer = {name[8:]: a for name, a in arrays.items() if name.startswith("trainer/")}
    return Checkpoint(
        workflow=int(meta["workflow"]),
        trainer=trainer,
        policy=policy_from(policy, meta["policy"], path),
        searcher=meta["searcher"],
    )
