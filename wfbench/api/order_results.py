"""Orders of a run: as objects, and the answer about them as JSON values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wfbench.orders import format_order
from wfbench.orders.compliance import find_definition
from wfbench.report.order_summary import OrderSummary, by_order
from wfbench.search.answer import Answer, OrderAnswer
from wfbench.search.conclusion import Findings
from wfbench.search.history import RecordedSearch

_OF_ORDERS = ("best", "followed", "untested", "not_followed")


@dataclass(frozen=True)
class OrderResult:
    """One order of a run and how well it did."""

    order: str
    """Which unit types to repair first, such as `S>E>U>D>H`."""
    score: float
    """Mean return; of joint policies under this order, or of the trainings of this order."""
    low: float
    """Lower end of the 95 % interval of the score; NaN if unknown.

    In a joint run it is for comparing orders only: it leaves out how far trainings (or episodes)
    differ as a whole, so another training's score may well be outside."""
    high: float
    """Upper end of that interval."""
    interval_over: str
    """What the interval is about: `episodes` of one training, or `trainings`.

    In a joint run: how far these change the differences between orders, not their common level."""
    compliance: float
    """NaN if untested. In a joint run: the share of choices that follow the order."""
    compliant: bool
    trainings: int
    choices: float = math.nan
    """Graded fixes per episode: what compliance is the share of."""
    status: str = ""
    """`followed`, `not followed` or `untested`."""
    may_be_best: bool | None = None
    """Whether it cannot be told from the best order; None if that was not tested."""

    @classmethod
    def of(cls, search: RecordedSearch, found: OrderSummary) -> OrderResult:
        """Make it from all trainings of an order."""
        pooled = find_definition(search.config.definition).pooled
        best, several = found.best, len(found.trainings) > 1
        half = found.between if several else found.within
        untested = pooled and math.isnan(best.compliance)
        return cls(
            order=search.written(found.order),
            score=found.mean,
            low=found.mean - half,
            high=found.mean + half,
            interval_over="trainings" if several else "episodes",
            compliance=best.compliance,
            compliant=best.compliant,
            trainings=len(found.trainings),
            choices=best.counted,
            status="followed" if best.compliant else "untested" if untested else "not followed",
        )

    @classmethod
    def answered(cls, text: str, found: OrderAnswer, answer: Answer) -> OrderResult:
        """Make it from what a joint run tells about an order."""
        return cls(
            order=text,
            score=found.estimate,
            low=found.estimate - found.half,
            high=found.estimate + found.half,
            interval_over="trainings" if answer.about == "orders" else "episodes",
            compliance=math.nan if found.share_right is None else found.share_right,
            compliant=found.status == "followed",
            trainings=answer.trainings,
            choices=found.choices_per_episode,
            status=found.status,
            may_be_best=found.may_be_best,
        )


def order_results(search: RecordedSearch) -> tuple[OrderResult, ...]:
    """Return every order that was trained, or that a joint policy was evaluated under.

    The best one comes first; in a joint run that is the one the answer names.
    """
    if search.findings is None:
        return tuple(OrderResult.of(search, one) for one in by_order(search.finished()))
    answer = search.findings.answer
    if answer is None:
        return ()
    ranked = sorted(answer.orders, key=lambda o: (-o.estimate, o.order != answer.best_order))
    return tuple(
        OrderResult.answered(format_order(one.order, search.units), one, answer) for one in ranked
    )


def answer_data(answer: Answer | None, units: Sequence[str]) -> dict[str, Any] | None:
    """Return an answer, its orders best first; None if there is none yet."""
    if answer is None:
        return None
    values = asdict(answer)
    values["best_order"] = format_order(answer.best_order, units)
    for place in (values, values["choices"]):
        for name in _OF_ORDERS:
            if name in place:
                place[name] = [format_order(order, units) for order in place[name]]
    for effect in values["effects"]:
        effect |= {end: units[effect[end]] for end in ("first", "second")}
    ranked = sorted(values["orders"], key=lambda one: -one["estimate"])
    values["orders"] = [{**one, "order": format_order(one["order"], units)} for one in ranked]
    return values


def specialised_data(findings: Findings) -> list[dict[str, Any]]:
    """Return the orders that were specialised, best first."""
    return [
        {
            "order": format_order(result.order, findings.units),
            "workflow": result.workflow,
            "score": float(sweep.env_return.mean()),
            "choices_per_episode": float(sweep.choices.mean()),
            "compliance": result.compliance,
        }
        for result, sweep in findings.specialised
    ]
