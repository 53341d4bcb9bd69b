"""Where runs are kept and how they are named."""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from pathlib import Path
from typing import Literal

from wfbench.contract import UsageError

from .files import load_json

DEFAULT = Path("results") / "runs"
MATRIX_FILE = "matrix.json"
SEARCH_CONFIGS = ("run-config/2", "run-config/1")
"""Schemas of a search's `config.json`, the one that is written first."""
BENCH_CONFIG = "bench-config/1"
RunKind = Literal["search", "matrix", "bench"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def new_name(now: datetime) -> str:
    """Return a name that sorts by time and does not repeat."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def checked_name(name: str) -> str:
    """Return the name if it is safe as a directory name."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a run: use letters, digits, . _ and -")
    return name


def find_run(out: Path, run: str) -> Path:
    """Return the directory of a run, given by its name under `out` or by its path."""
    for path in (out / run, Path(run)):
        if (path / "config.json").exists() or (path / MATRIX_FILE).exists():
            return path
    there = sorted(p.name for p in out.iterdir() if p.is_dir()) if out.is_dir() else []
    known = f"the latest are {', '.join(there[-5:])}" if there else "there are none"
    raise UsageError(f"there is no run {run!r} in {out}; {known}")


def run_kind(path: Path) -> RunKind:
    """Tell what a run directory holds: a search, a matrix of searches, or a bench."""
    if (path / MATRIX_FILE).exists():
        return "matrix"
    file = path / "config.json"
    if not file.exists():
        raise UsageError(f"{path} is not a run: it has no config.json")
    values = load_json(file)
    schema = values.get("schema") if isinstance(values, dict) else None
    if schema == f"wfbench/{BENCH_CONFIG}":
        return "bench"
    if schema in {f"wfbench/{known}" for known in SEARCH_CONFIGS}:
        return "search"
    raise UsageError(f"{file} has schema {schema!r}, which this version does not know")
