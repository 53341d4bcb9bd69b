"""What a user names: run directories and result files, and the report of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.benchmarks.compare.model import differences
from wfbench.benchmarks.reproduce.model import read_reproduction
from wfbench.contract import UsageError
from wfbench.host.manager import PluginHost
from wfbench.report import make_report
from wfbench.report.document import Check, Report, Section
from wfbench.search.history import RecordedSearch, read_search, read_searches
from wfbench.search.landscape.records import Landscape, read_landscape
from wfbench.search.same_work import task_of
from wfbench.store.evaluations import read_evaluations
from wfbench.store.places import find_run, run_kind

from .bench import saved_bench_section
from .check import stored_check_section
from .comparison import comparison_section, decode_comparison
from .evaluation import evaluation_section
from .joint import orders_section
from .landscape import (
    LANDSCAPES,
    fitting_landscape,
    landscape_for,
    landscape_section,
    stored_searchers_section,
)
from .matrix import APART, matrix_section
from .reproduction import reproduction_section
from .search import search_section


@dataclass(frozen=True)
class Sources:
    """Where runs are looked for, and what helps to judge them."""

    out: Path
    host: PluginHost | None = None
    landscape: Path | None = None
    """Judge every search by this landscape; None: by one of `results/landscapes` that fits."""

    def report(self, names: Sequence[str]) -> Report:
        """Return the report of everything that is named."""
        sections: list[Section] = []
        searches: list[RecordedSearch] = []
        for name in names:
            made, found = self._sections(name)
            sections += made
            searches += found
        if len(names) > 1:
            sections = _compared(searches) + sections
        return make_report(*sections, title=None if len(names) == 1 else " · ".join(names))

    def _sections(self, name: str) -> tuple[list[Section], list[RecordedSearch]]:
        if Path(name).is_file():
            return [_file_section(Path(name))], []
        path = find_run(self.out, name)
        kind = run_kind(path)
        if kind == "bench":
            return [saved_bench_section(path)], []
        if kind == "search":
            search = read_search(path)
            return self._search(search), [search]
        searches = read_searches(path)
        first = matrix_section(f"Matrix {path.name}", searches)
        parts = [section for search in searches for section in self._search(search)]
        # They are compared among themselves already.
        return [first, *parts], []

    def _search(self, search: RecordedSearch) -> list[Section]:
        sections = [search_section(search, self.host, self._landscape(search))]
        kept = read_evaluations(search.path)
        return sections + [_evaluation(values, search.units) for values in kept]

    def _landscape(self, search: RecordedSearch) -> Landscape | None:
        if self.landscape is not None:
            return fitting_landscape(search, self.landscape)
        return landscape_for(search, sorted(LANDSCAPES.glob("*.json")))


def _compared(searches: Sequence[RecordedSearch]) -> list[Section]:
    """Return searches side by side that learned the same, and say which did not."""
    groups: list[list[RecordedSearch]] = []
    for search in searches:
        for group in groups:
            if not list(_apart(group[0], search)):
                group.append(search)
                break
        else:
            groups.append([search])
    found = [matrix_section("Searches compared", some, APART) for some in groups if len(some) > 1]
    for group in groups[1:]:
        first, other = groups[0][0], group[0]
        why = "; ".join(_apart(first, other))
        says = f"{first.id} and {other.id} are not ranked together: {why}"
        found.append(Section("Not comparable", "matrix", Check("result", "open", says)))
    return found


def _apart(one: RecordedSearch, other: RecordedSearch) -> Iterator[str]:
    """Yield what keeps two searches from being compared, as `wfbench compare` says it."""
    if one.joint is not other.joint:
        yield "training one policy for all orders / one for each"
    yield from differences("", task_of(one.config), task_of(other.config))


def _evaluation(values: Mapping[str, Any], units: tuple[str, ...]) -> Section:
    """Return the section of an evaluation that is kept with its run."""
    by_order = values["schema"] == "wfbench/orders-evaluation/1"
    return orders_section(values, units) if by_order else evaluation_section(values, units)


def _file_section(path: Path) -> Section:
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    schema = values.get("schema") if isinstance(values, dict) else None
    readers: dict[str, Callable[[], Section]] = {
        "wfbench/landscape/1": lambda: landscape_section(read_landscape(path), path.stem),
        "wfbench/bench-search/1": lambda: stored_searchers_section(values, path.stem),
        "wfbench/evaluation/2": lambda: evaluation_section(values),
        "wfbench/evaluation/1": lambda: evaluation_section(values),
        "wfbench/cross-evaluation/1": lambda: evaluation_section(values, _units(values)),
        "wfbench/orders-evaluation/1": lambda: orders_section(values, tuple(values["units"])),
        "wfbench/verdict/1": lambda: stored_check_section(values),
        "wfbench/compare/1": lambda: comparison_section(decode_comparison(values)),
        "wfbench/reproduction/1": lambda: reproduction_section(read_reproduction(path)),
    }
    if schema not in readers:
        known = ", ".join(readers)
        raise UsageError(f"{path} has schema {schema!r}; a report can show {known}, and runs")
    try:
        return readers[schema]()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UsageError(f"{path} is not a sound {schema}: {error!r}") from error


def _units(values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the units as the orders write them; their sequence does not matter here."""
    judges = values["judges"]
    return tuple(sorted(judges[0].split(">"))) if judges else None
