"""Collectors with worker processes, plans and deadlines for tests that break things."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Deadlines, EnvRef, Plan
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.shm import ShmCollector

COLLECTORS: dict[str, Callable[..., Any]] = {
    "pipe": PipeCollector,
    "shm": lambda **options: ShmCollector(workers=2, **options),
    "async": lambda **options: AsyncCollector(workers=2, **options),
}


@pytest.fixture(params=COLLECTORS)
def build(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Builds one of the collectors that have worker processes."""
    return COLLECTORS[request.param]


@pytest.fixture(params=[name for name in COLLECTORS if name != "async"])
def build_synchronous(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Builds one of the collectors that have worker processes and a step barrier."""
    return COLLECTORS[request.param]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `fault_envs` importable here and, by inheritance of the path, in workers."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def plan_of() -> Callable[..., Plan]:
    """Plans of an environment of `fault_envs` by its name, or of the synthetic one."""

    def make(
        env: str = "synthetic",
        *,
        n_envs: int = 4,
        start: float = 60.0,
        step: float = 60.0,
        close: float = 3.0,
        **options: Any,
    ) -> Plan:
        if env == "synthetic":
            factory = "wfbench_synthetic.env:SyntheticEnv"
            options = {"num_actions": 4, "obs_dtype": "float32", "env_index": 0, **options}
        else:
            factory = f"fault_envs:{env}"
        seeds = np.random.SeedSequence(5).generate_state(n_envs, np.uint64)
        return Plan(
            env=EnvRef(env, factory, options=options),
            n_envs=n_envs,
            env_seeds=tuple(int(seed) for seed in seeds),
            deadlines=Deadlines(start=start, step=step, close=close),
        )

    return make


@pytest.fixture
def within() -> Callable[[float], Any]:
    """A block that must not take longer than this many seconds."""

    @contextmanager
    def limit(seconds: float) -> Iterator[None]:
        started = time.monotonic()
        yield
        took = time.monotonic() - started
        assert took <= seconds, f"took {took:.2f} s, more than {seconds} s"

    return limit
