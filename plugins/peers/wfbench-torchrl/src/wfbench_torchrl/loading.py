"""Loads the library only when a collector is built, and leaves the program as it was."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wfbench.contract.importing import load_object

if TYPE_CHECKING:
    from .parallel import ParallelCollector


def parallel(start_method: str = "fork") -> ParallelCollector:
    """Return the collector over `ParallelEnv`."""
    return _load("parallel:ParallelCollector", start_method)


def collector(start_method: str = "fork") -> ParallelCollector:
    """Return the collector over `Collector`."""
    return _load("collector:DataCollector", start_method)


def _load(name: str, start_method: str) -> ParallelCollector:
    with undisturbed():
        made: ParallelCollector = load_object(f"wfbench_torchrl.{name}")(start_method)
    return made


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put back the start method, the environment variables and Python's random state at the end.

    Importing TorchRL changes all three, and its first environments import more of it.
    """
    drawn = random.getstate()
    method, environ = multiprocessing.get_start_method(allow_none=True), dict(os.environ)
    try:
        yield
    finally:
        multiprocessing.set_start_method(method, force=True)
        for added in os.environ.keys() - environ.keys():
            del os.environ[added]
        random.setstate(drawn)
