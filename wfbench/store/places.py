"""Where runs lie and what they are called."""

from __future__ import annotations

import re
import secrets
from datetime import datetime
from pathlib import Path

from wfbench.contract import UsageError

DEFAULT = Path("results") / "runs"
MATRIX_FILE = "matrix.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def new_name(now: datetime) -> str:
    """A name that sorts by time and does not repeat."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def checked_name(name: str) -> str:
    """A name that is safe as a directory."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a run: use letters, digits, . _ and -")
    return name


def find_run(out: Path, run: str) -> Path:
    """The directory of a run, given by its name under `out` or by its path."""
    for path in (out / run, Path(run)):
        if (path / "config.json").exists() or (path / MATRIX_FILE).exists():
            return path
    there = sorted(p.name for p in out.iterdir() if p.is_dir()) if out.is_dir() else []
    known = f"the latest are {', '.join(there[-5:])}" if there else "there are none"
    raise UsageError(f"there is no run {run!r} in {out}; {known}")
