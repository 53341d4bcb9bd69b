"""What a user names: run directories and result files, and the report of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.host.manager import PluginHost
from wfbench.report import make_report
from wfbench.report.document import Check, Report, Section
from wfbench.search.history import RecordedSearch, read_search, read_searches
from wfbench.search.landscape.records import Landscape
from wfbench.search.same_work import task_of
from wfbench.store.evaluations import read_evaluations
from wfbench.store.places import find_run, run_kind

from .evaluation import evaluation_section
from .joint import orders_section
from .landscape import LANDSCAPES, fitting_landscape, landscape_for
from .matrix import APART, matrix_section
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
        title = None if len(names) == 1 else " · ".join(names)
        return make_report(*_compared(searches), *sections, title=title)

    def _sections(self, name: str) -> tuple[list[Section], list[RecordedSearch]]:
        if Path(name).is_file():
            from .result_files import file_section  # what every other kind of result needs

            return [file_section(Path(name))], []
        path = find_run(self.out, name)
        kind = run_kind(path)
        if kind == "bench":
            from .bench import saved_bench_section  # what measuring needs

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
    from wfbench.benchmarks.compare.model import differences  # what comparing needs

    if one.joint is not other.joint:
        yield "training one policy for all orders / one for each"
    yield from differences("", task_of(one.config), task_of(other.config))


def _evaluation(values: Mapping[str, Any], units: tuple[str, ...]) -> Section:
    """Return the section of an evaluation that is kept with its run."""
    by_order = values["schema"] == "wfbench/orders-evaluation/1"
    return orders_section(values, units) if by_order else evaluation_section(values, units)
