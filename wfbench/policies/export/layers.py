"""What every exported form is made of: the layers of one network, and blue's notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import NotesModel, Policy, UsageError
from wfbench.policies.network import Layer, NetworkPolicy


@dataclass(frozen=True)
class Exported:
    """A policy with its order built in: observation to logits, tanh between the layers."""

    layers: tuple[Layer, ...]
    notes: NotesModel | None
    """How its observations and actions follow from plain ones; None: they are the plain ones."""
    greedy: bool
    """Whether it is to take the most likely action; else it draws."""

    @classmethod
    def of(
        cls, policy: Policy, code: NDArray[Any], notes: NotesModel | None, *, greedy: bool
    ) -> Exported:
        """Build the code of the order, which observations would end with, into the first layer."""
        if not isinstance(policy, NetworkPolicy):
            raise UsageError(
                f"a {type(policy).__name__} cannot be exported; only networks of wfbench can"
            )
        constant = np.concatenate([code, policy.condition]).astype(np.float64)
        (weights, biases), *rest = policy.actor
        size = weights.shape[0] - constant.size
        added = constant @ weights[size:].astype(np.float64)
        first = (weights[:size], (biases + added).astype(np.float32))
        return cls((first, *rest), notes, greedy)

    @property
    def inputs(self) -> int:
        """How many features an observation has."""
        return int(self.layers[0][0].shape[0])

    @property
    def outputs(self) -> int:
        """How many actions there are."""
        return int(self.layers[-1][0].shape[1])
