"""Whether a policy does as well in another environment as where it was trained."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .evaluation import EvaluationCell

LIMIT = 3.0
"""Means of one cell agree if they are no more than so many standard errors apart."""


@dataclass(frozen=True)
class TransferCell:
    """Mean returns of one policy in two environments, against one red agent over one horizon."""

    red: str | None
    horizon: int
    home_return: float
    home_half_interval: float
    home_episodes: int
    away_return: float
    away_half_interval: float
    away_episodes: int

    @property
    def difference(self) -> float:
        """Return how much better it does away from home."""
        return self.away_return - self.home_return

    @property
    def standard_error(self) -> float:
        """Return the standard error of the difference of two independent means."""
        return math.hypot(self.home_half_interval, self.away_half_interval) / 1.96

    @property
    def agrees(self) -> bool:
        """Tell whether the difference may be chance; not without a standard error."""
        return abs(self.difference) <= LIMIT * self.standard_error


def paired(
    home: Sequence[EvaluationCell], away: Sequence[EvaluationCell]
) -> tuple[TransferCell, ...]:
    """Return the cells of both environments side by side."""
    return tuple(
        TransferCell(
            there.red,
            there.horizon,
            *(here.env_return, here.half_interval, here.episodes),
            *(there.env_return, there.half_interval, there.episodes),
        )
        for here, there in zip(home, away, strict=True)
    )
