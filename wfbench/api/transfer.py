"""`wfbench.verify_transfer`: a policy where it was trained and in another environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wfbench.api.evaluating import HORIZONS, REDS, find_played
from wfbench.api.hosting import plugin_host
from wfbench.api.results import Result, Rows, Values, as_list
from wfbench.contract import ExitCode, UsageError
from wfbench.orders import parse_order
from wfbench.orders.compliance import DEFAULT as DEFAULT_DEFINITION
from wfbench.report.sections.policies import transfer_section
from wfbench.search import evaluation
from wfbench.search.evaluation import EvaluationCell, Setup
from wfbench.search.subjects import Subject
from wfbench.search.transfer import TransferCell, paired
from wfbench.settings.selection import select
from wfbench.store.places import DEFAULT

if TYPE_CHECKING:
    from wfbench.report.document import Section

HOME_EPISODES = 4000
AWAY_EPISODES = 250


class TransferResult(Result, schema="transfer/1"):
    """Mean returns of a policy in two environments, and whether they agree."""

    policy: str
    home: str
    """Where it was trained."""
    away: str
    seed: int
    cells: tuple[TransferCell, ...]

    @property
    def exit_code(self) -> ExitCode:
        """Return 1 if a cell differs."""
        agrees = all(cell.agrees for cell in self.cells)
        return ExitCode.OK if agrees else ExitCode.REGRESSION

    def _values(self) -> Values:
        values = {"policy": self.policy, "home": self.home, "away": self.away, "seed": self.seed}
        return {**values, "cells": self._rows()}

    def _rows(self) -> Rows:
        return [
            asdict(cell)
            | {name: getattr(cell, name) for name in ("difference", "standard_error", "agrees")}
            for cell in self.cells
        ]

    def _sections(self) -> Sequence[Section]:
        return [transfer_section(self.policy, self.home, self.away, self.cells, self.seed)]


def verify_transfer(
    policy: str | Path,
    *,
    env: str = "cyborg",
    horizon: int | Sequence[int] | None = None,
    red: str | Sequence[str] | None = None,
    episodes: int = AWAY_EPISODES,
    home_episodes: int = HOME_EPISODES,
    greedy: bool = False,
    order: str | None = None,
    collector: str = "shm",
    seed: int = 0,
    out: str | Path = DEFAULT,
) -> TransferResult:
    """Play a policy where it was trained and in another environment, and compare its returns.

    env: the other environment; the official simulator unless another one is named.
    horizon, red: steps per episode (default 30, 50, 100) and red agents (default all three).
    episodes, home_episodes: per cell, in the other environment and where it was trained.
    order: the order that a joint policy is to follow; default: all in turn.
    collector: for the other environment.

    Example: wfbench.verify_transfer("results/runs/mine", red="bline").rows()
    """
    if min(episodes, home_episodes) < 2:
        raise UsageError("a standard error needs at least 2 episodes in each environment")
    reds = as_list(REDS if red is None else red)
    horizons = as_list(HORIZONS if horizon is None else horizon)
    played: list[list[EvaluationCell]] = []
    names = []
    for where, how, count in ((None, "vector", home_episodes), (env, collector, episodes)):
        subject = _subject(str(policy), Path(out), where, order, greedy=greedy)
        names.append(subject.env.spec.name)
        [chosen] = select(plugin_host(), {"collector": [how]})["collector"]
        setup = Setup(chosen, count, seed, DEFAULT_DEFINITION, judged=False)
        cells = evaluation.grid(subject, reds, horizons)
        played.append(evaluation.evaluate(subject, setup, subject.order or (), cells))
    home, away = names
    return TransferResult(str(policy), home, away, seed, paired(*played))


def _subject(name: str, out: Path, env: str | None, order: str | None, *, greedy: bool) -> Subject:
    found = find_played(name, out, env, order, greedy=greedy, replaced=(evaluation.RED,))
    if order is not None and found.order == ():
        return found.given(parse_order(order, found.model.units))
    return found if order is None else replace(found, order=parse_order(order, found.model.units))
