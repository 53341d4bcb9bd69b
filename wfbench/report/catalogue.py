"""The runs that lie in a folder, each with what it was asked and its few figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from wfbench.bench.saved import is_finished, load_machine, load_plan, load_session
from wfbench.bench.summary import summarise
from wfbench.config import SETTINGS
from wfbench.contract import UsageError
from wfbench.search.planning import restored_settings
from wfbench.store.files import read_json
from wfbench.store.lock import in_use
from wfbench.store.places import MATRIX_FILE, RunKind, run_kind

from .sections.recorded import RecordedSearch, read_search

Status = Literal["complete", "running", "interrupted", "smoke", "broken"]
_FREE = ("seed", "seeds", "batch", "definition")
"""Settings that do not change what is searched, or that are known more exactly."""
_SEARCHED = ("env", "collector", "trainer", "searcher")


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
    figures: Mapping[str, float] | None = None
    seed: int | None = None
    machine: str = ""
    version: str = ""


def list_runs(out: Path) -> list[RunRecord]:
    """Every run in a folder, oldest first."""
    if not out.is_dir():
        return []
    records = [describe_run(path) for path in _directories(out)]
    return sorted(records, key=lambda record: (record.created, record.name))


def describe_run(path: Path) -> RunRecord:
    """One run; a broken one says why."""
    try:
        kind = run_kind(path)
        if kind == "bench":
            return _bench(path)
        return _search(path) if kind == "search" else _matrix(path)
    except (UsageError, KeyError, TypeError, ValueError, IndexError) as error:
        cause = str(error) if isinstance(error, UsageError) else f"{path}: {error!r}"
        return RunRecord(path.name, path, "unknown", "broken", "", cause)


def _directories(out: Path) -> Iterator[Path]:
    for path in sorted(out.iterdir()):
        marks = (path / "config.json", path / MATRIX_FILE)
        if path.is_dir() and not path.name.startswith(".") and any(m.exists() for m in marks):
            yield path


def _status(path: Path, *, complete: bool, smoke: bool) -> Status:
    if in_use(path):
        return "running"
    if not complete:
        return "interrupted"
    return "smoke" if smoke else "complete"


def _search(path: Path) -> RunRecord:
    search = read_search(path)
    config, best = search.config, search.best()
    finished = search.finished()
    compliant = sum(result.compliant for result in finished)
    said = f"{config['plugins']['env']['label']}, {search.combination}: "
    said += f"{compliant}/{len(finished)} compliant"
    if best is not None:
        said += f", best {search.written(best.order)} {best.score:,.1f}"
    return RunRecord(
        name=path.name,
        path=path,
        kind="search",
        status=_status(path, complete=search.complete, smoke=bool(config["smoke"])),
        created=str(config["created"]),
        says=said,
        workload=_search_workload(config),
        figures=_search_figures(search, compliant),
        seed=int(config["settings"]["seed"]),
        machine=_machine(search.machine),
        version=str(search.machine.get("wfbench", "")),
    )


def _search_figures(search: RecordedSearch, compliant: int) -> dict[str, float]:
    best, seconds = search.best(), search.seconds()
    wall = seconds.get("wall", 0.0)
    figures: dict[str, float] = {}
    if best is not None:
        figures |= {"return": best.score, "compliance": best.compliance}
    figures |= {"compliant": float(compliant), "env-steps": float(search.env_steps)}
    if wall:
        figures |= {"steps-per-second": search.env_steps / wall, "seconds": wall}
    return figures


def _search_workload(config: Mapping[str, Any]) -> str:
    settings = asdict(restored_settings(config))
    asked = {
        name: value
        for name, value in settings.items()
        if name not in _FREE and not SETTINGS[name].kind
    }
    labels = {kind: config["plugins"][kind]["label"] for kind in _SEARCHED}
    return _digest("search", asked, labels, config["definition"], config["smoke"])


def _digest(*parts: object) -> str:
    """A short name that equal parts share."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _bench(path: Path) -> RunRecord:
    plan, session, machine = load_plan(path), load_session(path), load_machine(path)
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
    return RunRecord(
        name=path.name,
        path=path,
        kind="bench",
        status=_status(path, complete=is_finished(session), smoke=settings.smoke),
        created=plan.created,
        says=said,
        workload=_digest("bench", cases, env, asked),
        figures=figures,
        seed=settings.seed,
        machine=_machine(machine),
        version=str(machine.get("wfbench", "")),
    )


def _matrix(path: Path) -> RunRecord:
    cells = [str(cell) for cell in read_json(path / MATRIX_FILE, "matrix/1")["cells"]]
    parts = [describe_run(path / cell) for cell in cells]
    order: tuple[Status, ...] = ("broken", "running", "interrupted", "smoke", "complete")
    worst = min((part.status for part in parts), key=order.index)
    return RunRecord(
        name=path.name,
        path=path,
        kind="matrix",
        status=worst,
        created=parts[0].created,
        says=f"{len(cells)} searches",
        machine=parts[0].machine,
        version=parts[0].version,
    )


def _machine(machine: Mapping[str, Any]) -> str:
    return f"{machine.get('cpu')}, {machine.get('usable_cores')} cores"
