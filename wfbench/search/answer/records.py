"""What an answer consists of. All of it is plain data: `dataclasses.asdict` makes it a dict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wfbench.contract import Order

About = Literal["orders", "this policy"]
"""What an interval is about: any training (spread over training seeds), or this policy only
(spread over its episodes)."""
Verdict = Literal["difference", "no-difference", "provisional"]
Status = Literal["followed", "untested", "not followed"]


@dataclass(frozen=True)
class Estimate:
    """A number of points with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PairEffect:
    """Points gained by putting unit `first` before unit `second`."""

    first: int
    second: int
    effect: float | None
    """None if the orders at hand cannot tell."""
    half: float | None
    """Half the width of the interval; the intervals of all pairs hold together."""
    significant: bool


@dataclass(frozen=True)
class OrderAnswer:
    """One order: its return, its distance from the best, and how well it was followed."""

    order: Order
    mean: float
    """Mean return of its episodes."""
    estimate: float
    """The return that orders are compared by: from the pair effects if these explain the means."""
    half: float
    """Half width of the interval of `estimate` less the mean over orders; for this order alone.

    For comparing orders only: how far trainings (or episodes) differ as a whole is left out, so it
    is not how far the return of another training may be from `estimate`."""
    may_be_best: bool
    worse_by_at_most: float
    """Bound on the distance from the best order; the bounds of all orders hold together."""
    choices: int
    choices_per_episode: float
    share_right: float | None
    """None without choices."""
    share_low: float
    share_high: float
    status: Status


@dataclass(frozen=True)
class VarianceShares:
    """Shares of the variance of one episode of one order of one training; they add up to 1.

    All are 0 if nothing varies. With one training, `trainings` and `trainings_by_orders` are None,
    and `orders` is about that policy.
    """

    orders: float | None
    trainings: float | None
    trainings_by_orders: float | None
    episodes: float | None


@dataclass(frozen=True)
class ChoiceSummary:
    """Choices over all orders, and which orders were followed."""

    choices: int
    per_episode: float
    share_right: float | None
    share_low: float
    share_high: float
    threshold: float
    followed: tuple[Order, ...]
    untested: tuple[Order, ...]
    not_followed: tuple[Order, ...]


@dataclass(frozen=True)
class FollowingCost:
    """Points lost by following an order, against policies free to do what they like."""

    free_return: float
    against_mean: Estimate
    """Free return less the mean over orders."""
    against_best: Estimate
    """Free return less that of the best order."""
    about: About


@dataclass(frozen=True)
class Answer:
    """Which order is best, as far as the sweeps can tell."""

    verdict: Verdict
    about: About
    different: bool
    """Whether the orders differ significantly; also told when the verdict is provisional."""
    level: float
    trainings: int
    episodes: int
    """Episodes per order, over all trainings."""
    mean_return: float
    effects: tuple[PairEffect, ...]
    beyond_pairs: bool
    """Whether the pair effects do not explain the orders' means; then raw means are compared."""
    best_order: Order
    """The order with the highest estimate."""
    best: tuple[Order, ...]
    """The orders that cannot be told from the best."""
    largest_effect: float | None
    """The largest pair effect, in size, inside any interval; None if no effect can be told."""
    largest_difference: float
    """The largest difference between the best order and any other that is still compatible."""
    orders: tuple[OrderAnswer, ...]
    """Sorted by order index."""
    variance: VarianceShares
    choices: ChoiceSummary
    few_choices: bool
    """Whether there are so few choices that orders can hardly matter."""
    cost: FollowingCost | None
