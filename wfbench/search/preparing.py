"""Start what takes long before the first training needs it, wherever it will run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from wfbench.collecting.keeping import prepare_open
from wfbench.collecting.seeding import make_plan
from wfbench.contract import Call, Executor, load_object
from wfbench.settings.config import RunConfig
from wfbench.settings.selection import Choice

from .engine import TRAIN
from .job import SearchJob
from .planning import KINDS


def prepare(executor: Executor, config: RunConfig, chosen: Mapping[str, Sequence[Choice]]) -> None:
    """Have the first collector, and an executor that can, begin to start their processes.

    What is not used ends with the executor, and in this process with `keep_open`.
    """
    job = SearchJob(config, *[chosen[kind][0] for kind in KINDS])
    begin = getattr(executor, "prepare", None)
    if executor.in_process:
        _prepare_collector(job)
    elif begin is not None:
        begin(Call(f"{__name__}:prepare_worker", job))


def prepare_worker(job: SearchJob) -> Iterator[None]:
    """Have the collector of a worker start its processes, and load what the worker needs itself."""
    # What is wrong here is wrong in the training, too, and is told there.
    with suppress(Exception):
        _prepare_collector(job)
        import_module(TRAIN.partition(":")[0])
        load_object(job.trainer.spec.factory)
    return iter(())


def _prepare_collector(job: SearchJob) -> None:
    n_envs = job.cadence.n_envs or job.config.n_envs
    prepare_open(job.collector.build(), make_plan(job.training_ref(()), n_envs, job.config.seed))
