"""What a user names: run directories and result files, and the report of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from wfbench import __version__
from wfbench.contract import UsageError
from wfbench.landscape.records import Landscape
from wfbench.plugins import PluginHost
from wfbench.report.document import Report, Section
from wfbench.store.evaluations import read_evaluations
from wfbench.store.files import read_json
from wfbench.store.places import MATRIX_FILE, find_run, run_kind

from .bench import bench_section
from .evaluation import CELLS, CROSS, evaluation_section
from .landscape import LANDSCAPE, SEARCHERS, landscape_section, searchers_section
from .matrix import matrix_section
from .recorded import RecordedSearch, read_search
from .reproduction import REPRODUCTION, reproduction_section
from .run_regret import LANDSCAPES, fitting_landscape, landscape_for
from .search import search_section
from .verdicts import COMPARISON, VERDICT, check_section, comparison_section

MATRIX_SCHEMA = "matrix/1"


@dataclass(frozen=True)
class Sources:
    """Where runs are looked for, and what helps to judge them."""

    out: Path
    host: PluginHost | None = None
    landscape: Path | None = None
    """Judge every search by this landscape; None: by one of `results/landscapes` that fits."""

    def report(self, names: Sequence[str]) -> Report:
        """The report of everything that is named."""
        sections: list[Section] = []
        searches: list[RecordedSearch] = []
        for name in names:
            made, found = self._sections(name)
            sections += made
            searches += found
        if len(names) > 1 and len(searches) > 1:
            sections.insert(0, matrix_section("Searches compared", searches, same_run=False))
        title = sections[0].title if len(names) == 1 else " · ".join(names)
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        return Report(title, now, __version__, tuple(sections))

    def _sections(self, name: str) -> tuple[list[Section], list[RecordedSearch]]:
        if Path(name).is_file():
            return [_file_section(Path(name))], []
        path = find_run(self.out, name)
        kind = run_kind(path)
        if kind == "bench":
            return [bench_section(path)], []
        if kind == "search":
            search = read_search(path)
            return self._search(search), [search]
        cells = read_json(path / MATRIX_FILE, MATRIX_SCHEMA)["cells"]
        searches = [read_search(path / cell) for cell in cells]
        first = matrix_section(f"Matrix {path.name}", searches, same_run=True)
        parts = [section for search in searches for section in self._search(search)]
        # They are compared among themselves already.
        return [first, *parts], []

    def _search(self, search: RecordedSearch) -> list[Section]:
        sections = [search_section(search, self.host, self._landscape(search))]
        kept = read_evaluations(search.path)
        return sections + [evaluation_section(values, search.units) for values in kept]

    def _landscape(self, search: RecordedSearch) -> Landscape | None:
        if self.landscape is not None:
            return fitting_landscape(search, self.landscape)
        return landscape_for(search, _existing(LANDSCAPES))


def _existing(folder: Path) -> Iterable[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else ()


def _file_section(path: Path) -> Section:
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    schema = values.get("schema") if isinstance(values, dict) else None
    readers: dict[str, Callable[[], Section]] = {
        LANDSCAPE: lambda: landscape_section(path),
        SEARCHERS: lambda: searchers_section(values, path.stem),
        CELLS: lambda: evaluation_section(values, None),
        CROSS: lambda: evaluation_section(values, _units(values)),
        VERDICT: lambda: check_section(values),
        COMPARISON: lambda: comparison_section(values),
        REPRODUCTION: lambda: reproduction_section(values),
    }
    if schema not in readers:
        known = ", ".join(readers)
        raise UsageError(f"{path} has schema {schema!r}; a report can show {known}, and runs")
    try:
        return readers[schema]()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UsageError(f"{path} is not a sound {schema}: {error!r}") from error


def _units(values: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The units as the orders write them: letters or names, sorted, are as good as any."""
    judges = values["judges"]
    return tuple(sorted(judges[0].split(">"))) if judges else None
