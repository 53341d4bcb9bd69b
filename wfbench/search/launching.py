"""Open the run directories of searches: new ones, and those of a run to resume."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from wfbench.host.manager import PluginHost
from wfbench.settings.sources import ResolvedConfig
from wfbench.store.config import read_config, search_paths, write_matrix
from wfbench.store.places import checked_name, new_name
from wfbench.store.run import RunStore

from .job import SearchJob
from .planning import refuse_contradiction, restored_job, stored_config
from .recording import Observer
from .search import Search

Observe = Callable[[SearchJob, RunStore], Sequence[Observer]]
"""Returns the observers of one search, given its job and where it is kept."""


@contextmanager
def started(
    jobs: Sequence[SearchJob],
    out: Path,
    name: str | None,
    observe: Observe,
    *,
    smoke: bool,
    width: int = 1,
) -> Iterator[list[Search]]:
    """Open searches in new run directories and close them at the end.

    Several jobs get a common parent directory. `width` is how many orders the executor trains at a
    time; searches share it unless their batch is configured.
    """
    now = datetime.now().astimezone()
    run = new_name(now) if name is None else checked_name(name)
    seeded = len({job.config.seed for job in jobs}) > 1
    names = [_directory(i, job, seeded=seeded) for i, job in enumerate(jobs)]
    with ExitStack() as stack:
        searches = []
        for each, job in zip(names, jobs, strict=True):
            if not job.config.batch:
                job = replace(job, config=replace(job.config, batch=-(-width // len(jobs))))  # noqa: PLW2901
            run_id = run if len(jobs) == 1 else f"{run}/{each}"
            config = stored_config(job, run_id, now.isoformat(timespec="seconds"), smoke=smoke)
            store = RunStore.create(out / run_id, config)
            stack.callback(store.close)
            searches.append(Search(job, store, observe(job, store)))
        if len(jobs) > 1:
            write_matrix(out / run, run, names)
        yield searches


@contextmanager
def resumed(
    host: PluginHost, path: Path, resolved: ResolvedConfig, observe: Observe
) -> Iterator[list[Search]]:
    """Open the searches of an interrupted run and close them at the end."""
    paths = search_paths(path)
    refuse_contradiction(host, resolved, [read_config(one) for one in paths])
    with ExitStack() as stack:
        searches = []
        for one in paths:
            store = RunStore.resume(one)
            stack.callback(store.close)
            job = restored_job(host, store.config)
            searches.append(Search(job, store, observe(job, store)))
        yield searches


def _directory(index: int, job: SearchJob, *, seeded: bool) -> str:
    words = re.sub(r"[^a-z0-9.]+", "-", f"{job.collector.label} {job.trainer.label}".lower())
    name = f"{index:02d}-{words.strip('-')[:60]}"
    return f"{name}-seed-{job.config.seed}" if seeded else name
