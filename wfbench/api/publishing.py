"""`wfbench.export` and `wfbench.board`: policies that leave wfbench, and policies ranked."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wfbench import __version__
from wfbench.api.evaluating import EPISODES, HORIZONS, REDS, find_played
from wfbench.api.hosting import plugin_host
from wfbench.api.results import Progress, Result, Rows, Values, Watcher
from wfbench.contract import EnvSpec, UsageError
from wfbench.orders import format_order, parse_order
from wfbench.orders.compliance import DEFAULT as DEFAULT_DEFINITION
from wfbench.policies.export import WRITERS, Exported
from wfbench.policies.export.readme import readme
from wfbench.report.sections.policies import board_section, exported_section
from wfbench.search import board as boards
from wfbench.search import evaluation, subjects
from wfbench.search.evaluation import Setup
from wfbench.search.subjects import Subject
from wfbench.settings.selection import select
from wfbench.store.files import writing
from wfbench.store.places import DEFAULT

if TYPE_CHECKING:
    from wfbench.report.document import Section


class ExportResult(Result, schema="export/1"):
    """Where an exported policy is, and what is said of it."""

    format: str
    folder: str
    files: tuple[str, ...]
    said: Mapping[str, Any]
    """Order, definition, scores with intervals, versions: what its README tells."""

    def _values(self) -> Values:
        place = {"format": self.format, "folder": self.folder, "files": [*self.files]}
        return {**place, **self.said}

    def _rows(self) -> Rows:
        rows: Rows = self.said["scores"]
        return rows

    def _sections(self) -> Sequence[Section]:
        return [exported_section(self.format, self.folder, self.files, self.said)]


def export(
    policy: str | Path,
    *,
    to: str = "agent",
    folder: str | Path | None = None,
    order: str | None = None,
    greedy: bool = False,
    episodes: int = EPISODES,
    seed: int = 0,
    out: str | Path = DEFAULT,
) -> ExportResult:
    """Write a policy into a folder, in a form that needs no wfbench.

    policy: a policy.npz or a run.
    to: "agent" (one Python file that needs numpy alone, for the official evaluation), "onnx" or
        "torch".
    folder: where to; it must be new or empty. Default: named after policy and format.
    order: the order that a joint policy is to follow.
    greedy: an agent takes the most likely action instead of drawing one.
    episodes: per red agent and horizon, to measure the score that the export names.

    Example: wfbench.export("results/runs/mine", to="agent", folder="my-agent")
    """
    if to not in WRITERS:
        raise UsageError(f"there is no format {to!r}; choose one of {', '.join(WRITERS)}")
    if episodes < 2:
        raise UsageError(f"episodes is {episodes}; an interval needs at least 2")
    name, place = str(policy), Path(out)
    subject = _following(find_played(name, place, None, order, greedy=False), order)
    code = np.zeros(0) if subject.code is None else subject.code.encode(subject.order)
    exported = Exported.of(subject.policy, code, subject.model.notes, greedy=greedy)
    target = Path(folder) if folder is not None else Path(f"{Path(name).stem}-{to}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(
            f"{target} exists and is not an empty folder; choose another with --folder"
        )
    said = _said(subject, exported, episodes, seed)
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
        files = ["README.md", *WRITERS[to](target, exported, said)]
        (target / "README.md").write_text(readme(to, files, said), encoding="utf-8")
    return ExportResult(to, str(target), tuple(files), said)


def _following(subject: Subject, order: str | None) -> Subject:
    units = subject.model.units
    if subject.order:
        if order is not None and parse_order(order, units) != subject.order:
            followed = format_order(subject.order, units)
            raise UsageError(f"{subject.name} follows {followed} only; leave --order out")
        return subject
    if order is None:
        raise UsageError(f"{subject.name} follows any order; choose one, such as --order SEUHD")
    return subject.given(parse_order(order, units))


def _said(subject: Subject, exported: Exported, episodes: int, seed: int) -> dict[str, Any]:
    """Return what an export names: order, definition, scores with intervals and versions."""
    [collector] = select(plugin_host(), {"collector": ["vector"]})["collector"]
    setup = Setup(collector, episodes, seed, DEFAULT_DEFINITION, judged=False)
    likely = subjects.greedy(subject.policy) if exported.greedy else subject.policy
    played = replace(subject, policy=likely)
    cells = evaluation.grid(played, REDS, HORIZONS)
    found = evaluation.evaluate(played, setup, subject.order, cells)
    return {
        "policy": subject.name,
        "order": format_order(subject.order, subject.model.units),
        "definition": subject.trained_on or DEFAULT_DEFINITION,
        "env": subject.env.spec.name,
        "env_options": dict(subject.env.options),
        "features": exported.inputs,
        "actions": exported.outputs,
        "greedy": exported.greedy,
        "scores": [
            {
                "red": cell.red,
                "horizon": cell.horizon,
                "return": cell.env_return,
                "half_interval": cell.half_interval,
                "episodes": cell.episodes,
            }
            for cell in found
        ],
        "versions": {
            "wfbench": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


class BoardResult(Result, schema="board/1"):
    """Entries by total return, the best first."""

    env: str
    episodes: int
    seed: int
    greedy: bool
    cells: tuple[boards.Cell, ...]
    entries: tuple[boards.BoardEntry, ...]

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
    cells = boards.board_cells(spec.published)
    names = [str(policy) for policy in policies] or _stored(place)
    jobs = dict.fromkeys(names, "") | {one.name: one.summary for one in spec.references}
    entries = [boards.published_entry(found, cells) for found in spec.published]
    for done, (name, rule) in enumerate(jobs.items()):
        if progress is not None:
            progress(Progress(done, len(jobs), f"playing {name}"))
        sharp = greedy and not rule
        subject = find_played(name, place, env, None, greedy=sharp, replaced=(evaluation.RED,))
        home = subject if rule else find_played(name, place, None, None, greedy=False)
        entries.append(
            boards.played_entry(
                subject,
                cells,
                collector=chosen,
                episodes=episodes,
                seed=seed,
                kind="reference" if rule else "policy",
                knew_red="no" if rule else boards.trained_against(home, cells),
                about=rule,
            )
        )
    return BoardResult(spec.name, episodes, seed, greedy, cells, boards.ranked(entries))


def _stored(out: Path) -> list[str]:
    found = sorted(path.parent.name for path in out.glob("*/policy.npz"))
    if not found:
        raise UsageError(f"no run in {out} has a policy; name policies, or train one")
    return found
