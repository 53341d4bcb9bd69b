"""PPO's clipped objective over transitions, and its gradient by the networks' outputs.

The networks run once per distinct observation, so most of an update would be arithmetic per
transition. That is compiled here, for blocks of rows with the transitions of each row; whoever runs
the networks computes their own gradients from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.policies.elementary import exponentials
from wfbench.policies.layers import BLOCK

from .compiling import compiled, part
from .grouping import group_rows
from .layouts import Floats


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


class Acted(NamedTuple):
    """What the objective needs of every transition, and the weights of its terms."""

    action: NDArray[np.int64]
    old_log_probs: Floats
    fresh: NDArray[np.bool_]
    advantages: Floats
    targets: Floats
    relative: bool
    """Whether the advantages are the targets minus the values; then the critic's pass sets them."""
    clip: float
    value_weight: float
    entropy_weight: float
    share: float


def acted_of(
    data: Transitions, advantages: Floats | None, targets: Floats, weighting: Weighting, count: int
) -> Acted:
    """Return what the passes need of transitions, of which `count` are in the loss.

    Without `advantages` they are the targets minus the values.
    """
    return Acted(
        data.action,
        data.old_log_probs,
        data.fresh,
        np.empty_like(targets) if advantages is None else advantages,
        targets,
        advantages is None,
        weighting.clip,
        weighting.value,
        weighting.entropy,
        1.0 / count,
    )


@dataclass(frozen=True)
class Parts:
    """The parts of a loss."""

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    """How far the policy has moved from the one that acted."""
    mismatch: float
    """The largest change of a log-probability since the updated policy acted."""

    def numbers(self) -> dict[str, float]:
        """Return the parts of the loss by name."""
        return {name: getattr(self, name) for name in ("policy_loss", "value_loss", "entropy")}


@dataclass(frozen=True)
class Objective(Parts):
    """The parts of a loss, and its gradient by logits [U, actions] and values [V]."""

    by_logits: Floats
    by_values: Floats


def new_sums(count: int) -> NDArray[np.float64]:
    """Return zeros for what the passes add up: losses, entropy, divergence, mismatch."""
    return np.zeros((count, len(fields(Parts))))


def parts_of(sums: NDArray[np.float64]) -> Parts:
    """Return the parts of a loss, added up in the order of `sums`."""
    policy_loss, value_loss, entropy, kl = (float(loss) for loss in sums[:, :4].sum(axis=0))
    return Parts(policy_loss, value_loss, entropy, kl, float(sums[:, 4].max()))


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
    by_values = np.empty(len(values), dtype=np.float32)
    every = np.arange(len(data))
    acted = acted_of(data, advantages, targets, weighting, len(data))
    sums = new_sums(1)
    by_row = group_rows(data.row, every, rows, empty=True)
    powers = np.empty(BLOCK * actions, dtype=np.float32)
    exponents = np.empty(BLOCK * actions, dtype=np.int32)
    flat, by_flat = logits.reshape(-1), by_logits.reshape(-1)
    for first in range(0, rows, BLOCK):
        _policy_pass(
            flat[first * actions :],
            actions,
            actions,
            by_row.starts[first : first + BLOCK + 1],
            by_row.order,
            acted,
            by_flat[first * actions :],
            powers,
            exponents,
            sums[0],
        )
    valued = group_rows(data.value_row, every, len(values), empty=True)
    _value_pass(values, 1, valued.starts, valued.order, acted, by_values, sums[0])
    return Objective(**vars(parts_of(sums)), by_logits=by_logits, by_values=by_values)


@part
def _depths(logits: Any, width: int, actions: int, rows: int, powers: Any) -> None:
    """Compute how far each logit is below the largest of its row, padding infinitely far."""
    for r in range(rows):
        line, below = logits[r * width :], powers[r * width :]
        top = line[0]
        for a in range(1, actions):
            top = max(top, line[a])
        for a in range(width):
            below[a] = line[a] - top
        for a in range(actions, width):
            below[a] = np.float32(-1e30)


@part
def policy_rows(
    logits: Any,
    width: int,
    actions: int,
    starts: Any,
    order: Any,
    acted: Any,
    by_logits: Any,
    powers: Any,
    exponents: Any,
    sums: Any,
) -> None:
    """Compute the gradient by the logits of rows that are `width` apart; add to the sums.

    Row r has the transitions order[starts[r]:starts[r + 1]]. Padding gets no gradient.
    """
    rows = starts.shape[0] - 1
    share, clip = acted.share, acted.clip
    _depths(logits, width, actions, rows, powers)
    exponentials(powers, exponents, rows * width)
    for r in range(rows):
        line, power, by = logits[r * width :], powers[r * width :], by_logits[r * width :]
        top = line[0]
        for a in range(1, actions):
            top = max(top, line[a])
        total = 0.0
        weighed = 0.0
        for a in range(actions):
            by[a] = np.float32(0.0)
            total += power[a]
            weighed += power[a] * (line[a] - top)
        log_total = float(top) + math.log(total)
        entropy = math.log(total) - weighed / total
        pull = 0.0
        for t in range(starts[r], starts[r + 1]):
            i = order[t]
            moved = float(line[acted.action[i]]) - log_total - float(acted.old_log_probs[i])
            if acted.fresh[i] and not abs(moved) <= sums[4]:
                sums[4] = abs(moved)
            ratio = math.exp(moved)
            gain = float(acted.advantages[i])
            free = ratio * gain
            held = min(max(ratio, 1.0 - clip), 1.0 + clip) * gain
            step = 0.0 if held < free else -free * share
            sums[0] -= min(free, held) * share
            sums[3] += (ratio - 1.0 - moved) * share
            pull += step
            by[acted.action[i]] += np.float32(step)
        part = share * (starts[r + 1] - starts[r])
        sums[2] += entropy * part
        weight = np.float32(acted.entropy_weight * part / total)
        constant = np.float32((acted.entropy_weight * part * (entropy - log_total) - pull) / total)
        for a in range(actions):
            by[a] += power[a] * (weight * line[a] + constant)
        for a in range(actions, width):
            by[a] = np.float32(0.0)


@part
def value_rows(
    values: Any,
    width: int,
    starts: Any,
    order: Any,
    acted: Any,
    by_values: Any,
    sums: Any,
) -> None:
    """Compute the gradient by values that are `width` apart, and advantages; add to the sums."""
    for r in range(starts.shape[0] - 1):
        value = float(values[r * width])
        pull = 0.0
        for t in range(starts[r], starts[r + 1]):
            i = order[t]
            if acted.relative:
                acted.advantages[i] = acted.targets[i] - values[r * width]
            error = value - float(acted.targets[i])
            sums[1] += error * error * acted.share
            pull += error
        for j in range(1, width):
            by_values[r * width + j] = np.float32(0.0)
        by_values[r * width] = np.float32(2.0 * acted.value_weight * acted.share * pull)


_policy_pass = compiled(policy_rows)
_value_pass = compiled(value_rows)
