"""How the training of one order ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wfbench.contract import Order, Outcome

COMPLIANT, BUDGET, HOPELESS = "compliant", "budget", "hopeless"


@dataclass(frozen=True)
class WorkflowResult:
    """One finished workflow. A number that could not be measured is NaN."""

    workflow: int
    order: Order
    seed: int
    inherited_from: int | None
    status: str
    """`compliant`: trained until it followed the order; `budget`: until the budget was spent;
    `hopeless`: given up."""
    reason: str
    """What ended it: `threshold`, `episodes`, `total-episodes`, `wall-time`, or why it was given
    up: `not-finite`, `collapsed`, `no-progress`."""
    score: float
    """Mean environment return of the episodes that `score_source` names."""
    score_sd: float
    """Standard deviation over those episodes."""
    score_episodes: int
    score_source: str
    compliance: float
    beside_compliance: float
    fixes: float
    counted: float
    wasted: float
    compliant: bool
    steps_to_compliance: int | None
    """Environment steps after which compliance first reached the threshold."""
    updates: int
    env_steps: int
    evaluation_steps: int
    episodes: int

    @property
    def sound(self) -> bool:
        """Whether training went through, so that its policy can be used."""
        return self.reason != "not-finite"

    @property
    def score_error(self) -> float:
        """Standard error of the score over episodes of this one training; NaN if unknown."""
        if self.score_episodes < 2:
            return math.nan
        return self.score_sd / math.sqrt(self.score_episodes)

    def outcome(self) -> Outcome:
        """What the searcher is told."""
        return Outcome(
            score=self.score,
            compliance=self.compliance,
            compliant=self.compliant,
            env_steps=self.env_steps + self.evaluation_steps,
            seed=self.seed,
            values={
                "score_sd": self.score_sd,
                "score_episodes": float(self.score_episodes),
                "beside_compliance": self.beside_compliance,
            },
        )

    def values(self) -> dict[str, Any]:
        """As the values of an event."""
        found = {**self.__dict__, "permutation": list(self.order)}
        del found["order"]
        return found

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> WorkflowResult:
        """The result that an event holds."""
        given = {name: values[name] for name in cls.__dataclass_fields__ if name != "order"}
        numbers = {
            name: math.nan
            for name, declared in cls.__dataclass_fields__.items()
            if declared.type == "float" and given[name] is None
        }
        return cls(order=tuple(values["permutation"]), **given | numbers)


def better(one: WorkflowResult, other: WorkflowResult | None) -> bool:
    """Whether `one` is the better order: compliant before not, then by score."""
    if not one.sound or math.isnan(one.score):
        return False
    if other is None:
        return True
    return (one.compliant, one.score) > (other.compliant, other.score)
