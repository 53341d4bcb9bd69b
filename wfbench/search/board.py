"""A board: entries ranked by the sum of their mean returns over the published cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wfbench.contract import Published, UsageError
from wfbench.orders.compliance import DEFAULT as DEFAULT_DEFINITION
from wfbench.settings.selection import Choice

from .evaluation import RED, EvaluationCell, Setup, evaluate
from .subjects import Subject

Cell = tuple[str, int]
"""Red agent and number of steps."""


@dataclass(frozen=True)
class BoardEntry:
    """One defender on the board."""

    name: str
    kind: Literal["policy", "reference", "published"]
    returns: tuple[float, ...]
    """Mean return per episode, by the cells of the board."""
    half_intervals: tuple[float, ...]
    """Half of their 95 % intervals; none were published."""
    knew_red: str
    """Whether it knew whom it would face."""
    source: str

    @property
    def total(self) -> float:
        """Return the sum over the cells, by which entries are ranked."""
        return sum(self.returns)

    @property
    def half_interval(self) -> float:
        """Return half of the 95 % interval of the total; cells are played on seeds of their own."""
        return math.hypot(*self.half_intervals) if self.half_intervals else math.nan


def board_cells(published: Sequence[Published]) -> tuple[Cell, ...]:
    """Return the cells for which results are published."""
    if not published:
        raise UsageError("nothing is published for this environment, so there is no board")
    return tuple(published[0].returns)


def published_entry(found: Published, cells: Sequence[Cell]) -> BoardEntry:
    """Return the entry of a published result."""
    knew = {True: "yes", False: "no", None: "not said"}[found.knew_red]
    returns = tuple(found.returns[cell] for cell in cells)
    return BoardEntry(found.name, "published", returns, (), knew, found.source)


def played_entry(
    subject: Subject,
    cells: Sequence[Cell],
    *,
    collector: Choice,
    episodes: int,
    seed: int,
    kind: Literal["policy", "reference"],
    knew_red: str,
    about: str = "",
) -> BoardEntry:
    """Play every cell on seeds of its own, so that their means are independent."""
    setup = Setup(collector, episodes, seed, DEFAULT_DEFINITION, judged=False)
    found: list[EvaluationCell] = []
    for number, cell in enumerate(cells):
        own = replace(setup, seed=seed + number)
        found += evaluate(subject, own, subject.order, [cell])
    return BoardEntry(
        subject.name,
        kind,
        tuple(cell.env_return for cell in found),
        tuple(cell.half_interval for cell in found),
        knew_red,
        "; ".join(
            filter(None, (about, f"{episodes} episodes per cell in {subject.env.spec.name}"))
        ),
    )


def trained_against(subject: Subject, cells: Sequence[Cell]) -> str:
    """Say whether a policy was trained against one red agent of the board, which it then knew."""
    red = subject.env.options.get(RED)
    return f"trained on {red}" if red in {name for name, _ in cells} else "no"


def ranked(entries: Sequence[BoardEntry]) -> tuple[BoardEntry, ...]:
    """Return the entries, the best first."""
    return tuple(sorted(entries, key=lambda entry: -entry.total))
