"""Runs as objects: what a search found, and its policy, read from its directory."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wfbench.api.hosting import plugin_host
from wfbench.api.order_results import (
    OrderResult,
    answer_data,
    order_results,
    specialised_data,
)
from wfbench.api.policies import LoadedPolicy, load_policy
from wfbench.api.results import Result
from wfbench.contract import WfbenchError
from wfbench.report import show
from wfbench.report.document import Report
from wfbench.report.order_summary import OrderSummary, by_order
from wfbench.search.answer import Answer
from wfbench.search.conclusion import Findings
from wfbench.search.history import RecordedSearch, belief_of, read_search
from wfbench.settings.config import JOINT, PER_ORDER
from wfbench.store.config import search_paths
from wfbench.store.event_log import plain
from wfbench.store.files import write_whole
from wfbench.store.places import DEFAULT, find_run, run_kind
from wfbench.store.run import special_path

if TYPE_CHECKING:
    from wfbench.api.measuring import Bench

REPORT_FILE = "report.html"


class Run(Result, schema="run/3"):
    """One search: its orders with their intervals, the best one, its policy and its files."""

    path: Path
    recorded: RecordedSearch = field(repr=False)
    """Everything that the run directory holds."""
    report_path: Path | None = None
    """The page that was written into the run directory."""
    problem: str = ""
    """Why there is no page."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.recorded.id

    @property
    def complete(self) -> bool:
        """Whether the search came to its end."""
        return self.recorded.complete

    @property
    def runs(self) -> tuple[Run, ...]:
        """The run itself, in a tuple as a Matrix has it."""
        return (self,)

    @property
    def orders(self) -> tuple[OrderResult, ...]:
        """Every order that was trained, best first; in a joint run every order of its answer."""
        return order_results(self.recorded)

    @property
    def best(self) -> OrderResult | None:
        """The order whose training was best, on its own; None: no workflow has finished.

        In a joint run the best order by its answer; several may be as good (`may_be_best`).
        """
        if self.recorded.joint:
            return next(iter(self.orders), None)
        best = self.recorded.best()
        if best is None:
            return None
        return OrderResult.of(self.recorded, OrderSummary(best.order, (best,)))

    @property
    def findings(self) -> Findings | None:
        """What a joint run found: answer, answer under stress, specialised orders; else None."""
        return self.recorded.findings

    @property
    def answer(self) -> Answer | None:
        """What a joint run tells about orders; None before its first training and of others."""
        return None if self.findings is None else self.findings.answer

    @property
    def conclusion(self) -> tuple[str, ...]:
        """What a joint run found, in sentences; empty before its first training and of others."""
        return () if self.findings is None else self.findings.sentences()

    @property
    def policy(self) -> LoadedPolicy:
        """The joint policy, which follows any order, or that of the best order.

        See `wfbench.load_policy`, which also takes the order to follow.
        """
        return load_policy(self.path)

    @property
    def policies(self) -> dict[str, LoadedPolicy]:
        """The specialised policies of a joint run by order, best first."""
        found = [] if self.findings is None else self.findings.specialised
        orders = dict.fromkeys(self.recorded.written(result.order) for result, _ in found)
        return {order: load_policy(special_path(self.path, order)) for order in orders}

    @property
    def env_steps(self) -> int:
        """Environment steps spent on training and evaluation."""
        return self.recorded.env_steps

    @property
    def paths(self) -> dict[str, Path]:
        """The files of the run by name, such as `policy.npz`."""
        return {path.name: path for path in sorted(self.path.iterdir()) if path.is_file()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per workflow: order, score, compliance, steps, ..."""
        return _csv_rows(self.path / "workflows.csv")

    def updates(self) -> list[dict[str, Any]]:
        """Return one dict per update of a policy: the learning curves."""
        return _csv_rows(self.path / "updates.csv")

    def summary(self) -> dict[str, Any]:
        """Return the figures of this one run as JSON values."""
        search, config = self.recorded, self.recorded.config
        return {
            "run": search.id,
            "path": str(self.path),
            "complete": search.complete,
            "training": JOINT if search.joint else PER_ORDER,
            **{kind: config.label(kind) for kind in _CHOSEN},
            "definition": config.definition,
            "secondary": config.secondary,
            "threshold": config.settings["threshold"],
            **(self._per_order() if self.findings is None else self._joint(self.findings)),
            "env_steps": search.env_steps,
            "elapsed": search.elapsed,
            "steps_per_second": search.rate,
            "work_seconds": search.work,
        }

    def _joint(self, found: Findings) -> dict[str, Any]:
        """Return the answer of a joint run; its orders are in `answer`, too, with all they have."""
        orders = self.orders
        return {
            "compliant": sum(order.compliant for order in orders),
            "best": asdict(orders[0]) if orders else None,
            "orders": [asdict(order) for order in orders],
            "conclusion": self.conclusion,
            "answer": answer_data(found.answer, found.units),
            "stressed": answer_data(found.stressed, found.units),
            "specialised": specialised_data(found),
        }

    def _per_order(self) -> dict[str, Any]:
        """Return the trainings of a search over orders."""
        search, best = self.recorded, self.recorded.best()
        finished = search.finished()
        return {
            "compliant": sum(result.compliant for result in finished),
            "best": None if best is None else {"order": self.best_order, **best.values()},
            "orders": [
                {
                    "order": search.written(one.order),
                    "trainings": len(one.trainings),
                    "score": one.mean,
                    "half_interval_over_trainings": one.between,
                    "half_interval_over_episodes": one.within,
                    "compliance": one.best.compliance,
                    "secondary_compliance": one.best.secondary_compliance,
                    "compliant": one.best.compliant,
                }
                for one in by_order(finished)
            ],
            "belief": {
                search.written(order): {"mean": mean, "sd": sd}
                for order, (mean, sd) in belief_of(search, plugin_host())[0].items()
            },
        }

    @property
    def best_order(self) -> str | None:
        """The best order as text."""
        return None if self.best is None else self.best.order

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the run as JSON values."""
        return _run_dict(self.runs, self.report_path, alone=True)

    def show(self) -> None:
        """Print the best orders, where the time went and what to do next."""
        from wfbench.report.sections.search import search_section

        show(search_section(self.recorded, plugin_host(), brief=True))

    def _document(self) -> Report:
        return report_of(self.path)

    def __repr__(self) -> str:
        what = "trainings" if self.recorded.joint else "workflows"
        best = "" if self.best is None else f", best {self.best.order} {self.best.score:.1f}"
        return f"Run({str(self.path)!r}: {len(self.recorded.finished())} {what}{best})"


class Matrix(Result, schema="run/3"):
    """Several searches that ran as one: one for each combination of collector, trainer and seed."""

    path: Path
    runs: tuple[Run, ...]
    timing_comparable: bool = False
    """Whether each ran by itself, so that their speeds can be compared."""
    report_path: Path | None = None
    problem: str = ""

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def best(self) -> OrderResult | None:
        """The best order of all runs: compliant before not, then by score."""
        found = [run.best for run in self.runs if run.best is not None]
        return max(found, key=lambda one: (one.compliant, one.score), default=None)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per workflow, with the run it belongs to."""
        return [{"run": run.name, **row} for run in self.runs for row in run.rows()]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of every run as JSON values."""
        return _run_dict(self.runs, self.report_path, alone=self.timing_comparable)

    def show(self) -> None:
        """Print one row per run."""
        from wfbench.report.sections.matrix import TOGETHER, TURNS, matrix_section

        timing = TURNS if self.timing_comparable else TOGETHER
        searches = [run.recorded for run in self.runs]
        show(matrix_section(f"Matrix {self.path.name}", searches, timing, brief=True))

    def _document(self) -> Report:
        return report_of(self.path)

    def __repr__(self) -> str:
        return f"Matrix({str(self.path)!r}: {len(self.runs)} runs)"


def load_run(run: str | Path, *, out: str | Path = DEFAULT) -> Run | Matrix | Bench:
    """Read a run from its directory: a Run, a Matrix of runs, or a Bench.

    run: its name in `out`, or its path. One that still runs is read as far as it got.

    Example: wfbench.load_run("results/runs/mine").orders[:3]
    """
    from wfbench.api.measuring import Bench

    path = find_run(Path(out), str(run))
    kind = run_kind(path)
    if kind == "bench":
        return Bench.load(path)
    runs = tuple(map(_load_search, search_paths(path)))
    return runs[0] if kind == "search" else Matrix(path, runs)


def _load_search(path: Path) -> Run:
    page = path / REPORT_FILE
    return Run(path, read_search(path), page if page.exists() else None)


def _run_dict(runs: Sequence[Run], page: Path | None, *, alone: bool) -> dict[str, Any]:
    figures = [run.summary() for run in runs]
    return dict(plain({"runs": figures, "timing_comparable": alone, "report": page}))


def report_of(path: Path) -> Report:
    """Return the report of a run directory."""
    from wfbench.report.sections.sources import Sources

    return Sources(Path(), plugin_host()).report([str(path)])


def write_report(path: Path) -> tuple[Path | None, str]:
    """Write `report.html` beside what it shows; a run stays good if that fails."""
    from wfbench.report.formats.html import render_html

    page = path / REPORT_FILE
    try:
        write_whole(page, render_html(report_of(path)).encode())
    except WfbenchError as error:
        return None, f"there is no report: {error}"
    return page, ""


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(file)]


def _number(text: str) -> Any:
    """Return a cell as a number, a bool or None if it is one."""
    for convert in (_WORDS.__getitem__, int, float):
        with suppress(KeyError, ValueError):
            return convert(text)
    return text


_WORDS = {"": None, "True": True, "False": False, "true": True, "false": False}
_CHOSEN = ("collector", "trainer", "searcher")
