"""Run directories for jobs: new ones, and those of a run that is taken up again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from wfbench.layers import Effective
from wfbench.plugins import PluginHost
from wfbench.selection import Choice
from wfbench.store.files import read_json, write_json
from wfbench.store.places import MATRIX_FILE, checked_name, new_name
from wfbench.store.run import RunStore, read_config

from .job import SearchJob
from .loop import Observer, Search
from .planning import refuse_contradiction, restored_executor, restored_job, stored_config

MATRIX_SCHEMA = "matrix/1"

Observe = Callable[[SearchJob, RunStore], Sequence[Observer]]
"""The observers of one search, given its job and where it is kept."""


@contextmanager
def started(
    jobs: Sequence[SearchJob], out: Path, name: str | None, observe: Observe, *, smoke: bool
) -> Iterator[list[Search]]:
    """Searches in new run directories; several jobs get a common parent. Closed at the end."""
    now = datetime.now().astimezone()
    run = new_name(now) if name is None else checked_name(name)
    path = out / run
    seeded = len({job.config.seed for job in jobs}) > 1
    cells = [_cell_name(i, job, seeded=seeded) for i, job in enumerate(jobs)]
    if len(jobs) == 1:
        cells = [""]
    with ExitStack() as stack:
        searches = []
        for cell, job in zip(cells, jobs, strict=True):
            run_id = f"{run}/{cell}" if cell else run
            config = stored_config(job, run_id, now.isoformat(timespec="seconds"), smoke=smoke)
            store = RunStore.create(path / cell, config)
            stack.callback(store.close)
            searches.append(Search(job, store, observe(job, store)))
        if len(jobs) > 1:
            write_json(path / MATRIX_FILE, MATRIX_SCHEMA, {"run": run, "cells": cells})
        yield searches


@contextmanager
def resumed(
    host: PluginHost, path: Path, effective: Effective, observe: Observe
) -> Iterator[list[Search]]:
    """The searches of a run that was started before, as it left them. Closed at the end."""
    cells = _cells(path)
    with ExitStack() as stack:
        refuse_contradiction(effective, [read_config(path / cell) for cell in cells])
        searches = []
        for cell in cells:
            store = RunStore.resume(path / cell)
            stack.callback(store.close)
            job = restored_job(host, store.config)
            searches.append(Search(job, store, observe(job, store)))
        yield searches


def chosen_executor(host: PluginHost, path: Path, effective: Effective) -> Choice:
    """Where a run that was started before goes on."""
    return restored_executor(host, effective, read_config(path / _cells(path)[0]))


def _cells(path: Path) -> list[str]:
    if (path / MATRIX_FILE).exists():
        return list(read_json(path / MATRIX_FILE, MATRIX_SCHEMA)["cells"])
    return [""]


def _cell_name(index: int, job: SearchJob, *, seeded: bool) -> str:
    words = re.sub(r"[^a-z0-9.]+", "-", f"{job.collector.label} {job.trainer.label}".lower())
    name = f"{index:02d}-{words.strip('-')[:60]}"
    return f"{name}-seed-{job.config.seed}" if seeded else name
