"""A policy that fails, in whichever process it is asked."""

from __future__ import annotations

from typing import Any, Never

from numpy.typing import NDArray

from wfbench.contract import PolicySnapshot

COMPLAINT = "this policy always fails"


class FailingPolicy:
    """Raises whenever it is asked."""

    version = 1

    def act(self, obs: NDArray[Any], draws: NDArray[Any]) -> Never:  # noqa: ARG002 (the contract's signature)
        """Fail."""
        raise ValueError(COMPLAINT)

    def snapshot(self) -> PolicySnapshot:
        """Return this policy as plain arrays."""
        return PolicySnapshot(f"{__name__}:restore", self.version)


def restore(_: PolicySnapshot) -> FailingPolicy:
    """Return the policy."""
    return FailingPolicy()
