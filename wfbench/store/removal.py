"""Removing runs, unless somebody is using them."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from wfbench.contract import UsageError

from .files import read_json, writing
from .lock import RunLock
from .places import MATRIX_FILE, run_kind


def remove_run(path: Path) -> None:
    """Remove a run's directory with everything in it; refused while a process has it open.

    It gets another name first, so that nobody ever finds half a run.
    """
    if path.is_symlink():
        raise UsageError(f"{path} is a link; remove the run it leads to, or the link by hand")
    with ExitStack() as stack:
        for part in _parts(path):
            stack.callback(RunLock(part).release)
        gone = path.with_name(f".{path.name}.removed")
        with writing(path):
            path.rename(gone)
            shutil.rmtree(gone)


def files_of(path: Path) -> dict[str, int]:
    """The files of a run with their sizes in bytes."""
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): file.stat().st_size for file in found}


def _parts(path: Path) -> list[Path]:
    """The directories that have a lock of their own."""
    if run_kind(path) != "matrix":
        return [path]
    cells = read_json(path / MATRIX_FILE, "matrix/1")["cells"]
    return [path / str(cell) for cell in cells if (path / str(cell)).is_dir()]
