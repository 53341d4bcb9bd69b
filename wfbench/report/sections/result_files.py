"""The section of a result file, by the schema it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wfbench.benchmarks.reproduce.model import read_reproduction
from wfbench.contract import UsageError
from wfbench.report.document import Section
from wfbench.search.landscape.records import read_landscape

from .check import stored_check_section
from .comparison import comparison_section, decode_comparison
from .evaluation import evaluation_section
from .joint import orders_section
from .landscape import landscape_section, stored_searchers_section
from .reproduction import reproduction_section


def file_section(path: Path) -> Section:
    """Return the section of a file; raise UsageError if it is not a sound result."""
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
