"""A search as its run directory tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import Order, WfbenchError
from wfbench.orders import format_order
from wfbench.plugins import PluginHost
from wfbench.search.planning import restored_settings
from wfbench.search.results import WorkflowResult, better
from wfbench.selection import select
from wfbench.store.checkpoint import read_checkpoint
from wfbench.store.event_log import Values, read_events
from wfbench.store.files import read_json
from wfbench.store.run import read_config


@dataclass(frozen=True)
class RecordedSearch:
    """Everything a report of a search needs."""

    path: Path
    config: Mapping[str, Any]
    machine: Mapping[str, Any]
    events: tuple[Values, ...]

    @property
    def id(self) -> str:
        """The name of the run."""
        return str(self.config["run"])

    @property
    def units(self) -> tuple[str, ...]:
        """The unit types that orders rank."""
        return tuple(self.config["units"])

    @property
    def combination(self) -> str:
        """Which collector and trainer it used."""
        plugins = self.config["plugins"]
        return f"{plugins['collector']['label']}, {plugins['trainer']['label']}"

    @property
    def complete(self) -> bool:
        """Whether it came to its end."""
        return bool(self.events) and self.events[-1]["event"] == "run-finished"

    @property
    def env_steps(self) -> int:
        """Environment steps in all."""
        return int(self.events[-1]["ledger"]) if self.events else 0

    def told(self, kind: str) -> list[Values]:
        """Every event of a kind."""
        return [event for event in self.events if event["event"] == kind]

    def finished(self) -> list[WorkflowResult]:
        """The workflows that ended."""
        return [WorkflowResult.from_values(event) for event in self.told("workflow-finished")]

    def best(self) -> WorkflowResult | None:
        """The best workflow."""
        best: WorkflowResult | None = None
        for result in self.finished():
            best = result if better(result, best) else best
        return best

    def seconds(self) -> dict[str, float]:
        """Seconds by phase, and `wall`."""
        found: dict[str, float] = {}
        for event in self.events:
            for name, spent in event["time"].items():
                if name != "at":
                    found[name] = found.get(name, 0.0) + spent
        return found

    def written(self, order: Order) -> str:
        """An order as people write it."""
        return format_order(order, self.units)


def read_search(path: Path) -> RecordedSearch:
    """The search in a run directory; one that still runs is read as far as it is."""
    config = read_config(path)
    restored_settings(config)
    machine = read_json(path / "machine.json", "machine/1")
    return RecordedSearch(path, config, machine, tuple(read_events(path / "events.jsonl")))


def belief_of(
    search: RecordedSearch, host: PluginHost | None
) -> tuple[Mapping[Order, tuple[float, float]], str]:
    """What the searcher believes of every order after the last workflow, or why that is unknown."""
    finished = search.finished()
    if not finished or host is None:
        return {}, ""
    plugin = search.config["plugins"]["searcher"]
    file = search.path / "checkpoints" / f"{finished[-1].workflow:03d}.npz"
    try:
        state = read_checkpoint(file).searcher
        return _believed(host, plugin, len(search.units), state), ""
    except WfbenchError as error:
        return {}, f"what the searcher believes is not shown: {error}"


def _believed(
    host: PluginHost, plugin: Mapping[str, Any], num_units: int, state: Mapping[str, Any]
) -> Mapping[Order, tuple[float, float]]:
    from wfbench.contract import SearcherSetup
    from wfbench.search.job import calling, stored_options

    options = {plugin["name"]: stored_options(plugin["options"])}
    [choice] = select(host, {"searcher": [plugin["name"]]}, options)["searcher"]
    with calling(f"searcher {plugin['name']!r}"):
        searcher = choice.build(SearcherSetup(num_units, seed=0))
        searcher.load(state)
        offered = getattr(searcher, "belief", None)
        found: Mapping[Order, tuple[float, float]] = {} if offered is None else offered()
    return found
