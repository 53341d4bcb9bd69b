"""The runs of a folder, each with what it did and its few figures, and a figure over time."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

from wfbench.benchmarks.measure.saved import load_bench_config, load_machine, load_session
from wfbench.benchmarks.measure.summary import equal_work, is_sound, summarise
from wfbench.contract import UsageError
from wfbench.search.history import RecordedSearch, read_search
from wfbench.search.same_work import search_of
from wfbench.store.config import search_paths
from wfbench.store.events import JOINT
from wfbench.store.lock import in_use
from wfbench.store.places import MATRIX_FILE, RunKind, run_kind
from wfbench.store.run import sweep_path

Status = Literal["complete", "running", "interrupted", "smoke", "unsound", "broken"]
"""Of a bench whose collectors did unequal work, or of which a sample failed: unsound."""


@dataclass(frozen=True)
class RunRecord:
    """One run at a glance."""

    name: str
    path: Path
    kind: RunKind | Literal["unknown"]
    status: Status
    created: str
    says: str
    """What it did, or why that cannot be said."""
    workload: str = ""
    """Runs with an equal one did the same work."""
    figures: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    machine: str = ""
    version: str = ""
    commit: str = ""
    """The git revision of the folder it was started in, if known."""

    @property
    def has_figures(self) -> bool:
        """Tell whether it is complete and has figures to follow."""
        return self.status == "complete" and bool(self.figures)


def list_runs(out: Path) -> list[RunRecord]:
    """Return every run in a folder, oldest first."""
    if not out.is_dir():
        return []
    marks = ("config.json", MATRIX_FILE)
    records = [
        describe_run(path)
        for path in out.iterdir()
        if not path.name.startswith(".") and any((path / mark).exists() for mark in marks)
    ]
    return sorted(records, key=lambda record: (record.created, record.name))


def describe_run(path: Path) -> RunRecord:
    """Return one run; a broken one says why."""
    try:
        describe = {"bench": _bench, "search": _search, "matrix": _matrix}
        return describe[run_kind(path)](path)
    except (UsageError, KeyError, TypeError, ValueError, IndexError) as error:
        cause = str(error) if isinstance(error, UsageError) else f"{path}: {error!r}"
        return RunRecord(path.name, path, "unknown", "broken", "", cause)


def _status(path: Path, *, complete: bool, smoke: bool) -> Status:
    if in_use(path):
        return "running"
    if not complete:
        return "interrupted"
    return "smoke" if smoke else "complete"


def _search(path: Path) -> RunRecord:
    search = read_search(path)
    config = search.config
    found, figures = (_joint if search.joint else _per_order)(search)
    said = f"{config.label('env')}, {search.combination}: {found}"
    figures |= {"env-steps": float(search.env_steps)}
    if search.elapsed:
        figures |= {"steps-per-second": search.rate, "seconds": search.elapsed}
    status = _status(path, complete=search.complete, smoke=config.smoke)
    work, seed = _digest("search", search_of(config)), int(config.settings["seed"])
    record = RunRecord(path.name, path, "search", status, config.created, said, work, figures, seed)
    return _made_on(record, search.machine)


def _per_order(search: RecordedSearch) -> tuple[str, dict[str, float]]:
    """Return what a search over orders found, and its figures."""
    best, finished = search.best(), search.finished()
    compliant = sum(result.compliant for result in finished)
    said, figures = f"{compliant}/{len(finished)} compliant", {}
    if best is not None:
        said += f", best {search.written(best.order)} {best.score:,.1f}"
        figures = {"return": best.score, "compliance": best.compliance}
    return said, {**figures, "compliant": float(compliant)}


def _joint(search: RecordedSearch) -> tuple[str, dict[str, float]]:
    """Return what a joint run found, and the means of its joint trainings.

    Only the log is read: evaluations are many. They must be there, though.
    """
    finished = search.finished()
    for result in finished:
        file = sweep_path(search.path, result.workflow)
        if result.sound and not file.exists():
            raise UsageError(f"cannot read {file}: it does not exist")
    trained = [one for one in finished if one.stage == JOINT and one.sound]
    if not trained:
        return "no joint training has ended yet", {}
    says = next((one.says[0] for one in reversed(finished) if one.says), "")
    right = [one.compliance for one in trained if math.isfinite(one.compliance)]
    figures = {"return": fmean(one.score for one in trained)}
    figures |= {"compliance": fmean(right)} if right else {}
    return says, {**figures, "choices": fmean(one.counted for one in trained)}


def _digest(*parts: object) -> str:
    """Return a short name that equal parts share."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _bench(path: Path) -> RunRecord:
    plan, session = load_bench_config(path), load_session(path)
    figures = {
        f"{one.label}@{one.n_envs}": one.figures.rate.value
        for one in summarise(session)
        if one.figures is not None
    }
    fastest = max(figures, key=lambda name: figures[name], default=None)
    said = f"{plan.cases[0].env.name}, {len(plan.cases)} cases"
    if fastest is not None:
        said += f": fastest {fastest}, {figures[fastest]:,.0f} transitions/s"
    cases = [[case.label, case.n_envs, case.policy, case.env.name] for case in plan.cases]
    env = {str(key): str(value) for key, value in plan.cases[0].env.options.items()}
    settings = plan.settings
    asked = [settings.rounds, settings.seconds, settings.steps, settings.smoke]
    status = _status(path, complete=session.finished, smoke=settings.smoke)
    if status == "complete" and not is_sound(session):
        odd = ", ".join(label for one in equal_work(session) for label in one.odd)
        status, why = "unsound", f"unequal work: {odd}" if odd else "a sample failed"
        said = f"{why}; {said}"
    work, seed = _digest("bench", cases, env, asked), settings.seed
    found = RunRecord(path.name, path, "bench", status, plan.created, said, work, figures, seed)
    return _made_on(found, load_machine(path))


def _matrix(path: Path) -> RunRecord:
    parts = [describe_run(one) for one in search_paths(path)]
    order: tuple[Status, ...] = ("broken", "running", "interrupted", "smoke", "unsound", "complete")
    worst = min((part.status for part in parts), key=order.index)
    says = f"{len(parts)} searches"
    found = RunRecord(path.name, path, "matrix", worst, parts[0].created, says)
    return replace(found, machine=parts[0].machine, version=parts[0].version)


def _made_on(found: RunRecord, machine: Mapping[str, Any]) -> RunRecord:
    name = f"{machine.get('cpu')}, {machine.get('usable_cores')} cores"
    version, commit = str(machine.get("wfbench", "")), str(machine.get("commit") or "")
    return replace(found, machine=name, version=version, commit=commit)


@dataclass(frozen=True)
class Entry:
    """The figure of one run."""

    record: RunRecord
    value: float
    change: float | None
    """Relative to the run before; None for the first, and where that was 0."""


@dataclass(frozen=True)
class FigureHistory:
    """A figure over time."""

    figure: str
    entries: tuple[Entry, ...]

    @property
    def mean(self) -> float:
        """Return the mean over the runs."""
        return fmean(entry.value for entry in self.entries)

    @property
    def deviation(self) -> float | None:
        """Return the standard deviation over the runs, if there are several."""
        values = [entry.value for entry in self.entries]
        return stdev(values) if len(values) > 1 else None

    @property
    def machines(self) -> int:
        """Return on how many kinds of machine they ran."""
        return len({entry.record.machine for entry in self.entries})


def history_of(records: Sequence[RunRecord], run: RunRecord, figure: str | None) -> FigureHistory:
    """Return a figure of every complete run of the same work; default: the first figure."""
    if not run.figures:
        raise UsageError(f"run {run.name} has no figure of its own to follow")
    chosen = next(iter(run.figures)) if figure is None else figure
    if chosen not in run.figures:
        known = ", ".join(run.figures)
        raise UsageError(f"run {run.name} has no figure {chosen!r}; choose from: {known}")
    complete = (one for one in records if one.workload == run.workload and one.has_figures)
    same = [one for one in complete if chosen in one.figures]
    if not same:
        raise UsageError(
            f"no complete run does the same work as {run.name}, so there is no history"
        )
    entries: list[Entry] = []
    for record in same:
        value, last = record.figures[chosen], entries[-1].value if entries else 0.0
        entries.append(Entry(record, value, (value - last) / abs(last) if last else None))
    return FigureHistory(chosen, tuple(entries))


def histories(records: Sequence[RunRecord]) -> list[list[FigureHistory]]:
    """Return every figure over time, by work and machine, what was done last first."""
    works: dict[tuple[str, str], list[RunRecord]] = {}
    for record in reversed(records):
        if record.has_figures:
            works.setdefault((record.workload, record.machine), []).insert(0, record)
    return [
        [history_of(same, same[-1], figure) for figure in same[-1].figures]
        for same in works.values()
    ]


def latest(records: Sequence[RunRecord]) -> RunRecord:
    """Return the latest complete run that has figures."""
    for record in reversed(records):
        if record.has_figures:
            return record
    raise UsageError("there is no complete run; `wfbench run` or `wfbench bench` makes one")
