"""PPO's clipped objective over transitions, and its gradient by the networks' outputs.

The networks run once per distinct observation, so most of an update would be arithmetic per
transition. That is one compiled pass here; torch computes the networks' own gradients from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from wfbench.policies.kernel import exponentials

Floats = NDArray[np.float32]
Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    """Compile with sums that may be regrouped, which lets them become vector code."""
    flags: Any = {"error_model": "numpy", "fastmath": {"reassoc"}}
    compiled: Function = njit(nogil=True, cache=True, **flags)(function)
    return compiled


@dataclass(frozen=True)
class Transitions:
    """The transitions of an objective; transition i is of row `row[i]` of the actor's inputs."""

    row: NDArray[np.int64]
    value_row: NDArray[np.int64]
    """As `row`, for the critic."""
    action: NDArray[np.int64]
    old_log_probs: Floats
    fresh: NDArray[np.bool_]
    """Whether the policy that acted is the one that is updated."""

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Weighting:
    """The clipping range, and the weights of value and entropy in the loss."""

    clip: float
    value: float
    entropy: float


@dataclass(frozen=True)
class Objective:
    """The parts of a loss, and its gradient by logits [U, actions] and values [V]."""

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    """How far the policy has moved from the one that acted."""
    mismatch: float
    """The largest change of a log-probability since the updated policy acted."""
    by_logits: Floats
    by_values: Floats

    def numbers(self) -> dict[str, float]:
        """Return the parts of the loss by name."""
        return {
            "policy_loss": self.policy_loss,
            "value_loss": self.value_loss,
            "entropy": self.entropy,
        }


def objective(
    logits: Floats,
    values: Floats,
    data: Transitions,
    advantages: Floats,
    targets: Floats,
    weighting: Weighting,
) -> Objective:
    """Return the loss: policy + value weight * value - entropy weight * entropy, each a mean."""
    rows, actions = logits.shape
    by_logits = np.empty((rows, actions), dtype=np.float32)
    by_values = np.zeros(len(values), dtype=np.float32)
    log_totals, entropies, pulls, shares = np.zeros((4, rows))
    _distributions(
        logits,
        by_logits,
        log_totals,
        entropies,
        np.empty(actions, dtype=np.float32),
        np.empty(actions, dtype=np.int32),
    )
    steps = np.empty(len(data), dtype=np.float32)
    policy_loss, value_loss, kl, mismatch = _transitions(
        logits,
        values,
        log_totals,
        data.row,
        data.value_row,
        data.action,
        data.old_log_probs,
        data.fresh,
        advantages,
        targets,
        weighting.clip,
        weighting.value,
        steps,
        pulls,
        shares,
        by_values,
    )
    _by_logits(
        logits,
        log_totals,
        entropies,
        pulls,
        weighting.entropy * shares,
        data.row,
        data.action,
        steps,
        by_logits,
    )
    entropy = float(entropies @ shares)
    return Objective(policy_loss, value_loss, entropy, kl, mismatch, by_logits, by_values)


@_compiled
def _distributions(
    logits: Any, probs: Any, log_totals: Any, entropies: Any, powers: Any, bits: Any
) -> None:
    """Compute probabilities, log of the sum of exponentials and entropy of every row."""
    rows, actions = logits.shape
    for u in range(rows):
        top = logits[u, 0]
        for a in range(1, actions):
            top = max(top, logits[u, a])
        for a in range(actions):
            powers[a] = logits[u, a] - top
        exponentials(powers, bits, actions)
        total = 0.0
        weighed = 0.0
        for a in range(actions):
            total += powers[a]
            weighed += powers[a] * (logits[u, a] - top)
        share = np.float32(1.0 / total)
        for a in range(actions):
            probs[u, a] = powers[a] * share
        log_totals[u] = float(top) + math.log(total)
        entropies[u] = math.log(total) - weighed / total


@_compiled
def _transitions(
    logits: Any,
    values: Any,
    log_totals: Any,
    row: Any,
    value_row: Any,
    action: Any,
    old_log_probs: Any,
    fresh: Any,
    advantages: Any,
    targets: Any,
    clip: float,
    value_weight: float,
    steps: Any,
    pulls: Any,
    shares: Any,
    by_values: Any,
) -> tuple[float, float, float, float]:
    """Sum over transitions; `steps` gets the loss's gradient by each log-probability."""
    share = 1.0 / row.shape[0]
    policy_loss = value_loss = kl = mismatch = 0.0
    for i in range(row.shape[0]):
        u = row[i]
        moved = float(logits[u, action[i]]) - log_totals[u] - float(old_log_probs[i])
        if fresh[i] and not abs(moved) <= mismatch:
            mismatch = abs(moved)
        ratio = math.exp(moved)
        gain = float(advantages[i])
        free = ratio * gain
        held = min(max(ratio, 1.0 - clip), 1.0 + clip) * gain
        step = 0.0 if held < free else -free * share
        policy_loss -= min(free, held)
        kl += ratio - 1.0 - moved
        steps[i] = step
        pulls[u] += step
        shares[u] += share
        v = value_row[i]
        error = float(values[v]) - float(targets[i])
        value_loss += error * error
        by_values[v] += 2.0 * value_weight * share * error
    return policy_loss * share, value_loss * share, kl * share, mismatch


@_compiled
def _by_logits(
    logits: Any,
    log_totals: Any,
    entropies: Any,
    pulls: Any,
    weights: Any,
    row: Any,
    action: Any,
    steps: Any,
    out: Any,
) -> None:
    """Turn probabilities, which `out` holds, into the gradient by the logits."""
    rows, actions = logits.shape
    for u in range(rows):
        weight = np.float32(weights[u])
        constant = np.float32(weights[u] * (entropies[u] - log_totals[u]) - pulls[u])
        for a in range(actions):
            out[u, a] *= weight * logits[u, a] + constant
    for i in range(row.shape[0]):
        out[row[i], action[i]] += steps[i]
