"""Remove runs, unless a process is using them."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from wfbench.contract import UsageError

from .config import search_paths
from .files import writing
from .lock import RunLock
from .places import run_kind


def remove_run(path: Path) -> None:
    """Remove a run's directory with everything in it; refused while a process has it open.

    It is renamed first, so that nobody finds half a run.
    """
    if path.is_symlink():
        raise UsageError(f"{path} is a link; remove the run it points to, or the link by hand")
    with ExitStack() as stack:
        run_kind(path)  # refuses what is not a run
        for part in filter(Path.is_dir, search_paths(path)):
            stack.callback(RunLock(part).release)
        gone = path.with_name(f".{path.name}.removed")
        with writing(path):
            path.rename(gone)
            shutil.rmtree(gone)


def files_of(path: Path) -> dict[str, int]:
    """Return the files of a run with their sizes in bytes."""
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): file.stat().st_size for file in found}
