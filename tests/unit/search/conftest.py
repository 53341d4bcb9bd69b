"""Jobs with trainers and searchers that do what a test needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.search.engine import run_searches
from wfbench.search.job import SearchJob
from wfbench.search.planning import stored_config
from wfbench.search.search import Search
from wfbench.settings.config import RunConfig
from wfbench.settings.selection import select
from wfbench.store.run import RunStore

_LAB = '''
from dataclasses import dataclass

import numpy as np

from wfbench.contract import Cadence, SearcherSpec, TrainerSpec, UpdateStats, hookimpl
from wfbench.orders import order_code
from wfbench.policies import NetworkPolicy


@dataclass(frozen=True)
class Options:
    nan_stat: int = 0
    nan_weight: int = 0
    collapse: bool = False
    fail: int = 0


class Lab:
    """Never learns; nan_stat, nan_weight and fail are the update at which something breaks."""

    def __init__(self, setup, nan_stat, nan_weight, collapse, fail):
        self.setup, self.nan_stat, self.nan_weight = setup, nan_stat, nan_weight
        self.collapse, self.fail = collapse, fail
        self.updates = []

    def start(self, order, inherit=None):
        self.order, self.version = order, 0
        size = int(np.prod(self.setup.env.obs_shape)) + len(order) ** 2
        rng = np.random.default_rng(self.setup.seed)
        self.weights = rng.normal(size=(size, self.setup.env.num_actions)).astype(np.float32)
        if self.collapse:
            self.weights[:] = 0
        if inherit is not None:
            self.weights = np.array(inherit["weights"])

    def policy(self):
        biases = np.zeros(self.setup.env.num_actions, np.float32)
        if self.collapse:
            biases[0] = 50
        critic = np.zeros((len(self.weights), 1), np.float32)
        weights = self.weights
        if self.nan_weight and self.version >= self.nan_weight:
            weights = weights * np.float32("nan")
        return NetworkPolicy(
            [(weights, biases)],
            [(critic, np.zeros(1, np.float32))],
            version=self.version,
            condition=order_code(self.order),
        )

    def update(self, rollout, rewards):
        self.version += 1
        self.weights = self.weights + np.float32(0.01)
        if self.version == self.fail:
            raise RuntimeError("the learner broke")
        loss = float("nan") if self.version == self.nan_stat else 1.0
        return UpdateStats(0.0, rollout.transitions, {"loss": loss})

    def state(self):
        return {"weights": self.weights, "version": np.array(self.version)}

    def load(self, state):
        self.weights, self.version = np.array(state["weights"]), int(state["version"])


class Listing:
    """Asks for orders one after the other and keeps what it is told."""

    def __init__(self, setup):
        self.setup, self.told = setup, []

    def ask(self):
        first = len(self.told) % self.setup.num_units
        return tuple((first + i) % self.setup.num_units for i in range(self.setup.num_units))

    def tell(self, order, outcome):
        self.told.append((order, outcome))

    def state(self):
        return {"told": len(self.told)}

    def load(self, state):
        self.told = [None] * state["told"]


class Sharing(Listing):
    """Gives every second order a part of the budget."""

    def budget(self, order):
        return 0.4 if len(self.told) % 2 else None

    def belief(self):
        return {order: (outcome.score, 1.0) for order, outcome in self.told}


@hookimpl
def wfbench_trainers():
    one = Cadence(n_envs=1, steps=40)
    here = __name__
    return [
        TrainerSpec(name="lab", summary="Lab", factory=f"{here}:Lab", options=Options),
        TrainerSpec(
            name="lab-one", summary="Lab", factory=f"{here}:Lab", options=Options, cadence=one
        ),
    ]


@hookimpl
def wfbench_searchers():
    return [
        SearcherSpec(name="listing", summary="Lists", factory=f"{__name__}:Listing"),
        SearcherSpec(name="sharing", summary="Lists", factory=f"{__name__}:Sharing"),
    ]
'''

Make = Callable[..., SearchJob]


class ExecutedSearch(Search):
    """A search that can run by itself."""

    def run(self) -> None:
        """Run to the end in this process."""
        run_searches([self])

    def run_on(self, executor: Any) -> None:
        """Run to the end on an executor."""
        with closing(executor):
            run_searches([self], executor)


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> PluginHost:
    """Our plugins, and trainers and searchers of a laboratory."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "wfbench_search_lab.py").write_text(_LAB)
    found = load_plugins(PluginSettings(directories=(folder,), external=False))
    broken = [one for one in found.broken if one.source.plugin == "wfbench_search_lab"]
    assert not broken
    return found


@pytest.fixture
def make_job(host: PluginHost) -> Make:
    """A job on a small synthetic environment with episodes of 10 steps, one training per order."""

    def make(
        *,
        env: str = "synthetic-batch:obs_size=6,num_actions=5,episode_length=10",
        collector: str = "vector",
        trainer: str = "lab",
        searcher: str = "listing",
        **settings: Any,
    ) -> SearchJob:
        small: dict[str, Any] = {"n_envs": 4, "workflows": 3, "max_episodes": 6, "min_episodes": 1}
        small |= {"training": "per-order", "definition": "effective"}
        small |= {"update_every": 10, "stop": "budget"}
        config = RunConfig(**{**small, **settings})
        wanted = {"env": env, "collector": collector, "trainer": trainer, "searcher": searcher}
        chosen = {kind: select(host, {kind: [name]})[kind][0] for kind, name in wanted.items()}
        return SearchJob(config, **chosen)

    return make


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Search]]:
    """Searches in run directories of their own, closed at the end."""
    opened: list[RunStore] = []

    def start(job: SearchJob, name: str = "r", *observers: Any) -> ExecutedSearch:
        path = tmp_path / name
        if path.exists():
            store = RunStore.resume(path)
        else:
            store = RunStore.create(path, stored_config(job, name, "now", smoke=False))
        opened.append(store)
        return ExecutedSearch(job, store, observers)

    yield start
    for store in opened:
        store.close()
