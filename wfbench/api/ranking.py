"""`wfbench.board`: policies, reference rules and published results, ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from wfbench.api.evaluating import find_played
from wfbench.api.hosting import plugin_host
from wfbench.api.results import Progress, Result, Rows, Values, Watcher
from wfbench.contract import EnvSpec, UsageError
from wfbench.report.sections.policies import board_section
from wfbench.search import evaluation
from wfbench.search.board import (
    BoardEntry,
    Cell,
    board_cells,
    played_entry,
    published_entry,
    ranked,
    trained_against,
)
from wfbench.settings.selection import select
from wfbench.store.places import DEFAULT

if TYPE_CHECKING:
    from wfbench.report.document import Section

EPISODES = 1000


class BoardResult(Result, schema="board/1"):
    """Entries by total return, the best first."""

    env: str
    episodes: int
    seed: int
    greedy: bool
    cells: tuple[Cell, ...]
    entries: tuple[BoardEntry, ...]

    def _values(self) -> Values:
        values = {"env": self.env, "episodes": self.episodes, "seed": self.seed}
        cells = [f"{red} {steps}" for red, steps in self.cells]
        return {**values, "greedy": self.greedy, "cells": cells, "entries": self._rows()}

    def _rows(self) -> Rows:
        return [
            {"rank": rank, **asdict(entry)}
            | {"total": entry.total, "half_interval": entry.half_interval}
            for rank, entry in enumerate(self.entries, start=1)
        ]

    def _sections(self) -> Sequence[Section]:
        return [board_section(self.env, self.cells, self.entries, self.seed, greedy=self.greedy)]


def board(
    *policies: str | Path,
    env: str = "cage2",
    episodes: int = EPISODES,
    greedy: bool = False,
    collector: str = "vector",
    seed: int = 0,
    out: str | Path = DEFAULT,
    progress: Watcher | None = None,
) -> BoardResult:
    """Rank stored policies, reference rules and published results by total return.

    policies: policy files or runs. Default: every run in `out` that has a policy.
    env: where all of them play.
    greedy: policies take their most likely actions; reference rules stay as they are.

    Example: wfbench.board("results/runs/mine").save("board.md")
    """
    if episodes < 2:
        raise UsageError(f"episodes is {episodes}; an interval needs at least 2")
    host, place = plugin_host(), Path(out)
    [choice] = select(host, {"env": [env]})["env"]
    spec = choice.spec
    if not isinstance(spec, EnvSpec):
        raise UsageError(f"{env} is not an environment")
    [chosen] = select(host, {"collector": [collector]})["collector"]
    cells = board_cells(spec.published)
    names = [str(policy) for policy in policies] or _stored(place)
    jobs = dict.fromkeys(names, "") | {one.name: one.summary for one in spec.references}
    entries = [published_entry(found, cells) for found in spec.published]
    for done, (name, rule) in enumerate(jobs.items()):
        if progress is not None:
            progress(Progress(done, len(jobs), f"playing {name}"))
        sharp = greedy and not rule
        subject = find_played(name, place, env, None, greedy=sharp, replaced=(evaluation.RED,))
        home = subject if rule else find_played(name, place, None, None, greedy=False)
        entries.append(
            played_entry(
                subject,
                cells,
                collector=chosen,
                episodes=episodes,
                seed=seed,
                kind="reference" if rule else "policy",
                knew_red="no" if rule else trained_against(home, cells),
                about=rule,
            )
        )
    return BoardResult(spec.name, episodes, seed, greedy, cells, ranked(entries))


def _stored(out: Path) -> list[str]:
    found = sorted(path.parent.name for path in out.glob("*/policy.npz"))
    if not found:
        raise UsageError(f"no run in {out} has a policy; name policies, or train one")
    return found
