"""Choices made and how many of them were right."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order
from wfbench.orders.compliance import MIN_CHOICES
from wfbench.search.answer.records import ChoiceSummary, Status

FOLLOWED = 0.95
"""An order is followed if at least this share of the choices is right."""
FEW_CHOICES = 0.1
"""With fewer choices per episode than this a defender hardly faces a choice."""

Counts = NDArray[np.int64]
Share = tuple[float | None, float, float]


def share_interval(right: Counts, choices: Counts, level: float = 0.95) -> Share:
    """Return the pooled share of right choices and its Wilson interval; arrays over episodes.

    Choices of one episode are alike, so they count as fewer than they are. How much fewer is
    estimated as if one more episode had been all right and one all wrong: a perfect record then
    counts as one choice per episode with a choice. The share is None if there are no choices.
    """
    had = choices > 0
    total = float(choices[had].sum())
    if not total:
        return None, 0.0, 1.0
    share = float(right[had].sum()) / total
    effective = total / _design_effect(right[had], choices[had])
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (share + z**2 / (2 * effective)) / (1 + z**2 / effective)
    inner = share * (1 - share) / effective + z**2 / (4 * effective**2)
    half = z * inner**0.5 / (1 + z**2 / effective)
    return share, max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def status_of(share: float | None, choices: int, threshold: float) -> Status:
    """Return whether an order with this record was followed, not followed, or not tested."""
    if share is None or choices < MIN_CHOICES:
        return "untested"
    return "followed" if share >= threshold else "not followed"


def summarise_choices(
    right: list[Counts], choices: list[Counts], by_order: dict[Order, Status], threshold: float
) -> ChoiceSummary:
    """Return the record over all orders; arrays [orders, episodes], one per training.

    Episodes with one env seed are alike under all orders, so they count as one cluster.
    """
    clusters = np.concatenate([one.sum(axis=0) for one in choices])
    share, low, high = share_interval(np.concatenate([one.sum(axis=0) for one in right]), clusters)
    named = {
        status: tuple(order for order, found in by_order.items() if found == status)
        for status in ("followed", "untested", "not followed")
    }
    return ChoiceSummary(
        choices=int(clusters.sum()),
        per_episode=float(clusters.sum() / sum(one.size for one in choices)),
        share_right=share,
        share_low=low,
        share_high=high,
        threshold=threshold,
        followed=named["followed"],
        untested=named["untested"],
        not_followed=named["not followed"],
    )


def _design_effect(right: Counts, choices: Counts) -> float:
    """Return how many clustered choices are worth one independent choice, at least 1."""
    typical = float((choices.astype(np.float64) ** 2).sum() / choices.sum())
    good = np.append(right, (typical, 0.0))
    made = np.append(choices, (typical, typical))
    share = good.sum() / made.sum()
    spread = float(((good - share * made) ** 2).sum()) * len(made) / (len(made) - 1)
    return max(1.0, spread / float(share * (1 - share) * made.sum()))
