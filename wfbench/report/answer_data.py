"""The answer of a joint run as JSON values, with orders and units as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from wfbench.orders import format_order
from wfbench.search.answer import Answer
from wfbench.search.conclusion import Findings

_OF_ORDERS = ("best", "followed", "untested", "not_followed")


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
