"""Imported once by the process that workers are forked from, so that they need not import it."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

import stable_baselines3.common.vec_env  # noqa: F401 (what every worker needs, and torch with it)

FACTORY_VARIABLE = "WFBENCH_SB3_FACTORY"
"""Import path of the environment's factory, for its `warm_up()`."""


def warm_up(factory: str) -> None:
    """Import the environments' module and let it load what is slow to load."""
    # Whatever is wrong, a worker will meet it again and can report it.
    with suppress(Exception):
        module = import_module(factory.partition(":")[0])
        getattr(module, "warm_up", lambda: None)()


if FACTORY_VARIABLE in os.environ:
    warm_up(os.environ[FACTORY_VARIABLE])
