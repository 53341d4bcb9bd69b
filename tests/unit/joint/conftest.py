"""Joint runs of a second or two, with a trainer that was written before there were any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

THIRD_PARTY = Path(__file__).parents[2] / "data" / "third_party"
SMALL = {
    "n_envs": 4,
    "joint_episodes": 3,
    "max_episodes": 2,
    "min_episodes": 1,
    "update_every": 10,
    "eval_episodes": 2,
    "stress": 2,
    "specialise": 1,
}
_BREAKING = '''
"""Trainers whose numbers stop being finite, and one that watches."""
import numpy as np

from before_forms import Reinforce
from wfbench.contract import TrainerSpec, hookimpl


class Breaking(Reinforce):
    """Breaks in every training whose seed is in `numbers`, counted from the first one."""

    def update(self, rollout, rewards):
        stats = super().update(rollout, rewards)
        self.weights[:] = np.nan
        return stats


class BreaksFirst(Breaking):
    seeds = []

    def update(self, rollout, rewards):
        if self.setup.seed not in self.seeds:
            self.seeds.append(self.setup.seed)
        if self.seeds[0] == self.setup.seed:
            return super().update(rollout, rewards)
        return Reinforce.update(self, rollout, rewards)


class Watching(Reinforce):
    """Learns nothing, and keeps what shaping added to each reward."""

    added = []

    def update(self, rollout, rewards):
        kept = self.weights.copy()
        stats = super().update(rollout, rewards)
        self.weights[:] = kept
        self.added.append(rewards - rollout.rewards)
        return stats


@hookimpl
def wfbench_trainers():
    return [
        TrainerSpec(name="breaking", summary="x", factory=f"{__name__}:Breaking"),
        TrainerSpec(name="watching", summary="x", factory=f"{__name__}:Watching"),
        TrainerSpec(name="breaks-first", summary="x", factory=f"{__name__}:BreaksFirst"),
    ]
'''


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> PluginHost:
    """Our plugins, a collector and a trainer of somebody else, and trainers that break."""
    folder = tmp_path_factory.mktemp("breaking")
    (folder / "breaking_trainers.py").write_text(_BREAKING)
    found = load_plugins(PluginSettings(directories=(THIRD_PARTY, folder), external=False))
    ours = {"before_forms", "breaking_trainers"}
    assert not [one for one in found.broken if one.source.plugin in ours]
    return found


@pytest.fixture(scope="session")
def make_joint(host: PluginHost) -> Callable[..., SearchJob]:
    """A joint job on a small synthetic environment with episodes of 10 steps."""

    def make(
        *,
        env: str = "synthetic-batch:obs_size=6,num_actions=6,episode_length=10",
        collector: str = "vector",
        trainer: str = "reinforce",
        searcher: str = "gp-ucb",
        **settings: Any,
    ) -> SearchJob:
        wanted = {"env": env, "collector": collector, "trainer": trainer, "searcher": searcher}
        chosen = {kind: select(host, {kind: [name]})[kind][0] for kind, name in wanted.items()}
        return SearchJob(RunConfig(**{**SMALL, **settings}), **chosen)

    return make


class RunnableSearch(Search):
    """A search that can run by itself."""

    def run(self) -> None:
        """Run to the end in this process."""
        run_searches([self])


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Search]]:
    """Searches in run directories of their own, closed at the end."""
    opened: list[RunStore] = []

    def start(job: SearchJob, name: str = "r") -> RunnableSearch:
        path = tmp_path / name
        if path.exists():
            store = RunStore.resume(path)
        else:
            store = RunStore.create(path, stored_config(job, name, "now", smoke=False))
        opened.append(store)
        return RunnableSearch(job, store)

    yield start
    for store in opened:
        store.close()
