"""A cluster of two nodes on this machine, and searches small enough to be run on it."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.search.engine import run_searches
from wfbench.search.job import SearchJob
from wfbench.search.planning import stored_config
from wfbench.search.search import Search
from wfbench.settings.config import RunConfig
from wfbench.settings.selection import select
from wfbench.store.run import RunStore

os.environ.update(
    RAY_USAGE_STATS_ENABLED="0",
    RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    RAY_raylet_start_wait_time_s="300",
)
_AGENTS = (
    "metrics_agent_port",
    "metrics_export_port",
    "dashboard_agent_listen_port",
    "runtime_env_agent_port",
)


def _ports() -> dict[str, int]:
    """Given ports keep Ray from waiting, for a time that a busy machine exceeds, for its own."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in _AGENTS]
        for one in sockets:
            one.bind(("", 0))
        return {name: one.getsockname()[1] for name, one in zip(_AGENTS, sockets, strict=True)}


class TwoNodes:
    """A head with one core, and a node with another that can be taken away and replaced."""

    def __init__(self) -> None:
        head = {"num_cpus": 1, "include_dashboard": False, **_ports()}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self._cluster.address
        self.add()

    def add(self) -> None:
        """Let the second node join."""
        self._second = self._cluster.add_node(num_cpus=1, **_ports())

    def remove(self) -> None:
        """Let the second node die."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def shutdown(self) -> None:
        """End both."""
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def cluster() -> Iterator[TwoNodes]:
    """Two nodes."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    nodes = TwoNodes()
    yield nodes
    nodes.shutdown()


@pytest.fixture(scope="session")
def host() -> PluginHost:
    """Our plugins and this one."""
    return load_plugins(PluginSettings())


class Outcome:
    """What a run left."""

    def __init__(self, folder: Path) -> None:
        lines = (folder / "events.jsonl").read_text().splitlines()
        self.events = [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]
        stored = [folder / "policy.npz", *sorted((folder / "checkpoints").iterdir())]
        self.files = {path.name: path.read_bytes() for path in stored}


@pytest.fixture(scope="session")
def run_in(host: PluginHost) -> Callable[..., Outcome]:
    """Runs a small search in a folder: ten orders of half a second each, two at a time."""

    def go(parent: Path, folder: str, executor: Any, *observers: Any) -> Outcome:
        env = "synthetic:step=0.002,busy=false,obs_size=6,num_actions=5,episode_length=10"
        wanted = {"env": env, "collector": "sequential", "trainer": "ppo", "searcher": "random"}
        chosen = {kind: select(host, {kind: [name]})[kind][0] for kind, name in wanted.items()}
        config = RunConfig(
            training="per-order",
            n_envs=4,
            workflows=10,
            max_episodes=6,
            min_episodes=1,
            update_every=10,
            stop="budget",
            batch=2,
        )
        job = SearchJob(config, **chosen)
        path = parent / folder / "r"
        path.parent.mkdir(exist_ok=True)
        store = (
            RunStore.resume(path)
            if path.exists()
            else RunStore.create(path, stored_config(job, "r", "now", smoke=False))
        )
        with closing(store), closing(executor):
            run_searches([Search(job, store, observers)], executor)
        return Outcome(path)

    return go


@pytest.fixture
def run(run_in: Callable[..., Outcome], tmp_path: Path) -> Callable[..., Outcome]:
    """Runs a small search in the test's own folder."""
    return partial(run_in, tmp_path)
