"""Recorded searches: the one reader of a run directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from wfbench.contract import Order, SearcherSetup, WfbenchError
from wfbench.host.manager import PluginHost
from wfbench.settings.config import JOINT
from wfbench.store.config import StoredConfig, read_config, search_paths
from wfbench.store.events import (
    LogEntry,
    RunEvent,
    RunFinished,
    WorkflowFinished,
    WorkflowResult,
    best_of,
    better,
    written_order,
)
from wfbench.store.files import read_json
from wfbench.store.policy_file import read_checkpoint
from wfbench.store.run import RunStore, checkpoint_path, read_log, sweep_path
from wfbench.store.sweeps import Sweep, read_sweeps

from .conclusion import Findings
from .job import calling
from .planning import restored_choice, restored_settings

Kind = TypeVar("Kind", bound=RunEvent)
Belief = Mapping[Order, tuple[float, float]]
"""Expected return of an order, and its standard deviation."""


@dataclass(frozen=True)
class RecordedSearch:
    """A search with everything that happened in it. May still be going on."""

    path: Path
    config: StoredConfig
    machine: Mapping[str, Any]
    entries: tuple[LogEntry, ...]

    @property
    def id(self) -> str:
        """Return the name of the run."""
        return self.config.run

    @property
    def units(self) -> tuple[str, ...]:
        """Return the unit types that orders rank."""
        return self.config.units

    @property
    def combination(self) -> str:
        """Return which collector and trainer it used."""
        return f"{self.config.label('collector')}, {self.config.label('trainer')}"

    @property
    def complete(self) -> bool:
        """Tell whether it came to its end."""
        return self.end is not None

    @property
    def end(self) -> RunFinished | None:
        """Return the last event, if the search came to its end."""
        last = self.entries[-1].event if self.entries else None
        return last if isinstance(last, RunFinished) else None

    @property
    def env_steps(self) -> int:
        """Return the environment steps spent, on training and on evaluation."""
        return self.entries[-1].env_steps_spent if self.entries else 0

    @property
    def elapsed(self) -> float:
        """Return the wall-clock seconds of the run."""
        return self.entries[-1].time.elapsed if self.entries else 0.0

    @property
    def rate(self) -> float:
        """Return environment steps per second of elapsed time; 0 if no time has passed."""
        return self.env_steps / self.elapsed if self.elapsed > 0 else 0.0

    @cached_property
    def work(self) -> Mapping[str, float]:
        """Return seconds of work by phase, added up over everything that ran at the same time."""
        found: dict[str, float] = {}
        for entry in self.entries:
            for phase, seconds in entry.time.work.items():
                found[phase] = found.get(phase, 0.0) + seconds
        return found

    @property
    def work_seconds(self) -> float:
        """Return all seconds of work."""
        return sum(self.work.values())

    @property
    def joint(self) -> bool:
        """Tell whether it trains one policy for all orders."""
        return self.config.settings.get("training") == JOINT

    @cached_property
    def findings(self) -> Findings | None:
        """Return what a joint run has found so far; None if it trains orders one by one."""
        if not self.joint:
            return None
        settings = self.config.settings
        found = [(one, load_sweeps(self.path, one)) for one in self.finished()]
        return Findings(self.units, settings["threshold"], settings["stress"], tuple(found))

    def events(self, kind: type[Kind]) -> list[Kind]:
        """Return every event of a kind."""
        return [entry.event for entry in self.entries if isinstance(entry.event, kind)]

    def finished(self) -> list[WorkflowFinished]:
        """Return the workflows that ended."""
        return self.events(WorkflowFinished)

    def best(self) -> WorkflowFinished | None:
        """Return the best workflow."""
        return best_of(self.finished())

    def best_so_far(self) -> Iterator[tuple[LogEntry, WorkflowFinished | None]]:
        """Return every entry with the best workflow by then."""
        best: WorkflowFinished | None = None
        for entry in self.entries:
            if isinstance(entry.event, WorkflowFinished) and better(entry.event, best):
                best = entry.event
            yield entry, best

    def written(self, order: Order) -> str:
        """Return an order as people write it."""
        return written_order(order, self.units)


def load_sweeps(run: Path, result: WorkflowResult) -> dict[str, Sweep]:
    """Return the evaluations of a training; one that broke down has none."""
    return read_sweeps(sweep_path(run, result.workflow)) if result.swept else {}


def recorded(store: RunStore) -> RecordedSearch:
    """Return what an open run has recorded so far."""
    return RecordedSearch(store.path, store.config, _machine(store.path), tuple(store.entries))


def read_search(path: Path) -> RecordedSearch:
    """Read the search in a run directory; one that still runs is read as far as it got."""
    config = read_config(path)
    restored_settings(config)  # raises if a setting cannot be understood
    return RecordedSearch(path, config, _machine(path), tuple(read_log(path)))


def read_searches(path: Path) -> list[RecordedSearch]:
    """Read every search of a run: several for a matrix, otherwise one."""
    return [read_search(one) for one in search_paths(path)]


def _machine(path: Path) -> Mapping[str, Any]:
    return read_json(path / "machine.json", "machine/1")


def belief_of(search: RecordedSearch, host: PluginHost | None) -> tuple[Belief, str]:
    """Return the searcher's belief after the last workflow, or an empty one and why."""
    finished = search.finished()
    if not finished or host is None:
        return {}, ""
    plugin = search.config.plugins["searcher"]
    try:
        state = read_checkpoint(checkpoint_path(search.path, finished[-1].workflow)).searcher
        choice = restored_choice(host, "searcher", plugin)
        with calling(f"searcher {plugin.name!r}"):
            searcher = choice.build(SearcherSetup(len(search.units), seed=0))
            searcher.load(state)
            offered = getattr(searcher, "belief", None)
            return ({} if offered is None else offered()), ""
    except WfbenchError as error:
        return {}, f"what the searcher believes is not shown: {error}"
