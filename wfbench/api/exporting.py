"""`wfbench.export`: a policy in a form that needs no wfbench."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wfbench import __version__
from wfbench.api.evaluating import HORIZONS, REDS, find_played
from wfbench.api.hosting import plugin_host
from wfbench.api.results import Result, Rows, Values
from wfbench.contract import UsageError
from wfbench.orders import format_order, parse_order
from wfbench.orders.compliance import DEFAULT as DEFAULT_DEFINITION
from wfbench.policies.export import WRITERS, Exported
from wfbench.policies.export.readme import readme
from wfbench.report.sections.policies import exported_section
from wfbench.search import evaluation, subjects
from wfbench.search.evaluation import Setup
from wfbench.search.subjects import Subject
from wfbench.settings.selection import select
from wfbench.store.files import writing
from wfbench.store.places import DEFAULT

if TYPE_CHECKING:
    from wfbench.report.document import Section

EPISODES = 1000


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
    code = np.zeros(0) if subject.code is None else subject.code.encode(subject.order or ())
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
    order = subject.order or ()
    cells = evaluation.evaluate(played, setup, order, evaluation.grid(played, REDS, HORIZONS))
    return {
        "policy": subject.name,
        "order": format_order(order, subject.model.units),
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
            for cell in cells
        ],
        "versions": {
            "wfbench": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
