"""`policy.npz`: a frozen policy as plain arrays, with what it was trained for.

The file names the code that makes a policy of the arrays. Because a file may come from a stranger,
only code of packages the reader trusts is ever loaded: ours, and those of the loaded plugins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import Order, Policy, PolicySnapshot, UsageError

from .files import read_arrays, write_arrays

SCHEMA = "policy/1"
OURS = "wfbench.policies"


@dataclass(frozen=True)
class PolicyLabel:
    """What a stored policy was trained for."""

    order: Order
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

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self.__dict__, "env_options": dict(self.env_options)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], path: Path) -> PolicyLabel:
        """The label of a file; a usage error if something is missing."""
        try:
            given = {name: values[name] for name in cls.__dataclass_fields__}
            return cls(
                **given
                | {
                    "order": tuple(int(unit) for unit in given["order"]),
                    "units": tuple(str(unit) for unit in given["units"]),
                    "obs_shape": tuple(int(size) for size in given["obs_shape"]),
                    "env_options": dict(given["env_options"]),
                }
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path} does not say what the policy is for: {error!r}") from error


@dataclass(frozen=True)
class StoredPolicy:
    """A policy as it lies on disk."""

    snapshot: PolicySnapshot
    label: PolicyLabel

    def policy(self, trusted: Collection[str] = ()) -> Policy:
        """The policy, if the code that makes it is ours or of a `trusted` package."""
        module = self.snapshot.restore.partition(":")[0]
        if module != OURS and module.partition(".")[0] not in trusted:
            raise UsageError(
                f"the policy is to be made by {self.snapshot.restore}, which is neither wfbench's "
                "nor a loaded plugin's; install the plugin it comes from, if you trust it"
            )
        return self.snapshot.policy()


def policy_meta(stored: StoredPolicy) -> dict[str, Any]:
    """Everything of a stored policy that is not an array."""
    return {
        "schema": f"wfbench/{SCHEMA}",
        "restore": stored.snapshot.restore,
        "version": stored.snapshot.version,
        **stored.label.as_json(),
    }


def write_policy(path: Path, stored: StoredPolicy) -> None:
    """Write `policy.npz`."""
    write_arrays(path, stored.snapshot.arrays, policy_meta(stored))


def read_policy(path: Path) -> StoredPolicy:
    """Read `policy.npz`; nothing of it is run."""
    arrays, meta = read_arrays(path, SCHEMA)
    return policy_from(arrays, meta, path)


def policy_from(arrays: Mapping[str, Any], meta: Mapping[str, Any], path: Path) -> StoredPolicy:
    """The stored policy that arrays and meta describe."""
    label = PolicyLabel.from_json(meta, path)
    restore, version = meta.get("restore"), meta.get("version")
    if not isinstance(restore, str) or not isinstance(version, int):
        raise UsageError(f"{path} does not say how the policy is made of its arrays")
    return StoredPolicy(PolicySnapshot(restore, version, dict(arrays)), label)
