"""What a joint run has found, in sentences that a person can act on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wfbench.orders import format_order, short_names
from wfbench.orders.compliance import MIN_CHOICES
from wfbench.search.answer import Answer, PairEffect, find_answer, share_interval
from wfbench.search.answer.quantiles import t_quantile
from wfbench.search.answer.records import FollowingCost
from wfbench.store.events import FREE, JOINT, SPECIAL, WorkflowResult
from wfbench.store.sweeps import NORMAL, STRESS, Sweep

_NEGLIGIBLE = 1.0
"""Points of return that are called no difference."""
_SHOWN = 3
"""Effects that are named one by one."""


@dataclass(frozen=True)
class Findings:
    """The trainings of a joint run that have ended, each with its sweeps."""

    units: tuple[str, ...]
    threshold: float
    stress: int
    trainings: tuple[tuple[WorkflowResult, Mapping[str, Sweep]], ...]

    def sweeps(self, stage: str, name: str = NORMAL) -> list[Sweep]:
        """Return the sweeps of every sound training of a stage."""
        return [
            sweeps[name]
            for result, sweeps in self.trainings
            if result.stage == stage and result.sound and name in sweeps
        ]

    @cached_property
    def answer(self) -> Answer | None:
        """Return what is known about orders; None before the first joint training."""
        joint = self.sweeps(JOINT)
        if not joint:
            return None
        return find_answer(joint, free=self.sweeps(FREE), threshold=self.threshold)

    @cached_property
    def stressed(self) -> Answer | None:
        """Return the same after blue was held."""
        joint = self.sweeps(JOINT, STRESS)
        return find_answer(joint, threshold=self.threshold) if joint else None

    @property
    def _followed_anyway(self) -> int | None:
        """Return how many orders policies without an order follow; None without such policies."""
        free = self.sweeps(FREE)
        if not free:
            return None
        return len(find_answer(free, threshold=self.threshold).choices.followed)

    @property
    def specialised(self) -> list[tuple[WorkflowResult, Sweep]]:
        """Return the specialised orders that had the largest budget, best first."""
        found = [
            (result, sweeps[NORMAL])
            for result, sweeps in self.trainings
            if result.stage == SPECIAL and result.sound
        ]
        most = max((result.env_steps for result, _ in found), default=0)
        equal = [one for one in found if one[0].env_steps == most]
        return sorted(equal, key=lambda one: -one[1].env_return.mean())

    def sentences(self) -> tuple[str, ...]:
        """Return the conclusion, one statement per line; empty before the first answer."""
        answer = self.answer
        if answer is None:
            return ()
        lines = [*_about_orders(answer, self.units), _about_choices(answer, self._followed_anyway)]
        if self.stressed is not None:
            lines.append(_about_stress(self.stressed, self.stress))
        if answer.cost is not None:
            lines.append(_about_cost(answer.cost))
        if self.specialised:
            lines.append(self._about_specialised())
        return tuple(lines)

    def _about_specialised(self) -> str:
        result, sweep = self.specialised[0]
        count = int(sweep.choices.sum())
        share, *_ = share_interval(sweep.right.reshape(-1), sweep.choices.reshape(-1))
        right = f"untested: {count} choices"
        if share is not None and count >= MIN_CHOICES:
            right = f"{share:.1%} of its choices right"
        many = len(self.specialised)
        return (
            f"Best of {many} specialised {'order' if many == 1 else 'orders'}: "
            f"{format_order(result.order, self.units)} at {sweep.env_return.mean():.2f} ± "
            f"{half_over_seeds(sweep):.2f} over the episodes of one training ({right})."
        )


def _about_orders(answer: Answer, units: tuple[str, ...]) -> list[str]:
    best = format_order(answer.best_order, units)
    if answer.verdict == "provisional":
        says = (
            f"First answer, from one training: mean return {answer.mean_return:.2f} over all "
            f"orders, {best} best so far. Whether orders differ needs a second training."
        )
        return [says]
    if answer.verdict == "no-difference":
        return [_no_difference(answer)]
    others = len(answer.best) - 1
    told = f"{others} more cannot be told from it" if others else "no other comes near"
    mean = {one.order: one.estimate for one in answer.orders}[answer.best_order]
    return [
        f"{_effects(answer.effects, units)}.",
        f"Best order: {best} at {mean:.2f} (all orders {answer.mean_return:.2f}); {told}.",
    ]


def _no_difference(answer: Answer) -> str:
    """Say that orders do not differ, or that this run could not tell."""
    most, mean = answer.largest_difference, f"mean return {answer.mean_return:.2f}"
    bound = f"no order can be {most:.2f} points worse than the best"
    if answer.few_choices and most <= _NEGLIGIBLE:
        few = f"a good defender faces {answer.choices.per_episode:.2f} choices per episode"
        return f"The order makes no difference here, because {few}: {mean}; {bound}."
    if most <= _NEGLIGIBLE:
        return f"The order makes no difference here: {mean}; {bound}."
    return (
        f"No difference between orders was found, but this run could not find less than "
        f"{most:.1f} points: {mean}. More seeds or episodes tell more."
    )


def _effects(effects: Sequence[PairEffect], units: tuple[str, ...]) -> str:
    """Say which precedences matter, and how small the others are."""
    letters = short_names(units)
    known = [one for one in effects if one.effect is not None and one.half is not None]
    strong = sorted((o for o in known if o.significant), key=lambda o: -abs(o.effect or 0.0))
    said = [_effect(one, letters) for one in strong[:_SHOWN]]
    if not said:
        return "Orders differ, but no single pair of units explains how"
    if len(strong) > _SHOWN:
        said.append(f"{len(strong) - _SHOWN} more pairs matter less")
    weak = [abs(one.effect or 0.0) + (one.half or 0.0) for one in known if not one.significant]
    if weak:
        said.append(f"no other pair matters: all below {math.ceil(10 * max(weak)) / 10:.1f}")
    return "; ".join(said)


def _effect(one: PairEffect, letters: Sequence[str]) -> str:
    first, second, effect = one.first, one.second, one.effect or 0.0
    if effect < 0:
        first, second, effect = second, first, -effect
    return (
        f"{letters[first]} before {letters[second]}: +{effect:.1f} ± {one.half or 0.0:.1f} points"
    )


def _about_choices(answer: Answer, anyway: int | None) -> str:
    choices, orders = answer.choices, len(answer.orders)
    if choices.share_right is None or len(choices.untested) == orders:
        return (
            f"Compliance is untested: no order has {MIN_CHOICES} choices on record "
            f"({choices.per_episode:.2f} per episode)."
        )
    more = [f"{len(choices.untested)} untested"] if choices.untested else []
    more += [] if anyway is None else [f"{anyway} even without being told an order"]
    beside = f" ({', '.join(more)})" if more else ""
    return (
        f"{len(choices.followed)} of {orders} orders are followed at {choices.threshold:.0%} or "
        f"more{beside}: {choices.share_right:.1%} of {choices.per_episode:.1f} choices per "
        "episode are right."
    )


def _about_stress(answer: Answer, held: int) -> str:
    choices = answer.choices
    if choices.share_right is None:
        return f"After {held} held steps there are no choices."
    untested = f" ({len(choices.untested)} untested)" if choices.untested else ""
    return (
        f"After {held} held steps {len(choices.followed)} of {len(answer.orders)} orders are "
        f"followed{untested}: "
        f"{choices.share_right:.1%} of {choices.per_episode:.1f} choices per episode are right."
    )


def _about_cost(cost: FollowingCost) -> str:
    value = cost.against_best
    half = (value.high - value.low) / 2
    these = "" if cost.about == "orders" else ", for these policies; --free 2 tells more"
    points = f"{abs(value.value):.2f} ± {half:.2f} points"
    if value.low > 0:
        return f"Following the best order costs {points}{these}."
    if value.high < 0:
        return f"Policies that follow the best order do better than free ones, by {points}{these}."
    return (
        f"Following the best order costs nothing that could be measured ({value.value:.2f} ± "
        f"{half:.2f} points against a policy without an order{these})."
    )


def half_over_seeds(sweep: Sweep) -> float:
    """Return half the 95 % interval of a sweep's mean return over its env seeds."""
    by_seed = sweep.env_return.mean(axis=0)
    if len(by_seed) < 2:
        return math.nan
    return t_quantile(0.95, len(by_seed) - 1) * float(by_seed.std(ddof=1)) / math.sqrt(len(by_seed))
