"""A run as a person watches it: progress, learning curves, speed, machine, the best so far."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any

import psutil
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from wfbench.processes.usage import tree
from wfbench.report.run_plan import RunPlan, judged_name
from wfbench.report.written import duration, fixed
from wfbench.store.events import PHASES

_BARS = "▁▂▃▄▅▆▇█"
_CURVE = 40
_RECENT = 5
_PACES = 20
"""Updates over which the speed is averaged."""
_SAMPLE = 1.0
"""Seconds between looks at the process tree."""

Event = Mapping[str, Any]


def sparkline(values: Iterable[float | None], low: float | None = None) -> str:
    """Return values as a row of bars, scaled from the lowest to the highest."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    if not known:
        return ""
    bottom = min(known) if low is None else low
    span = max(max(known) - bottom, 1e-9)
    top = len(_BARS) - 1
    return "".join(_BARS[max(0, min(top, round((v - bottom) / span * top)))] for v in known)


class ProcessTree:
    """CPU time and memory of this process and all below it, sampled once a second."""

    def __init__(self) -> None:
        self._looked = -_SAMPLE
        self._spent: dict[int, float] = {}
        self.cores = 0.0
        self.memory = 0
        self.processes = 1

    def look(self) -> None:
        """Sample, unless the last sample is younger than a second."""
        now = monotonic()
        passed = now - self._looked
        if passed < _SAMPLE:
            return
        spent: dict[int, float] = {}
        memory = 0
        for process in tree():
            with suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                memory += process.memory_info().rss
                spent[process.pid] = times.user + times.system
        if self._spent:
            used = sum(spent[pid] - self._spent.get(pid, 0.0) for pid in spent)
            self.cores = used / passed
        self._looked, self._spent = now, spent
        self.memory, self.processes = memory, len(spent)

    def draw(self) -> Text:
        """Return the last sample as one line."""
        many = f" in {self.processes} processes" if self.processes > 1 else ""
        return Text(
            f"{self.cores:.0%} of a core (of {os.cpu_count()} cores), "
            f"{self.memory / 2**20:,.0f} MiB{many}",
            style="dim",
        )


@dataclass
class RunPanel:
    """What is shown of one search."""

    label: str
    plan: RunPlan = field(default_factory=RunPlan)
    finished: int = 0
    compliant: int = 0
    current: Event = field(default_factory=dict)
    best: Event | None = None
    recent: deque[Event] = field(default_factory=lambda: deque(maxlen=_RECENT))
    curve: deque[Event] = field(default_factory=lambda: deque(maxlen=_CURVE))
    """The last updates of the current workflow."""
    seconds: dict[str, float] = field(default_factory=dict)
    paces: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_PACES))
    says: tuple[str, ...] = ()
    """What a joint run has found by now."""
    updated: float = 0.0
    """When the last event came."""
    lock: Lock = field(default_factory=Lock)
    """Held while the numbers change, and while they are drawn in another thread."""

    def __call__(self, event: Event) -> None:
        """Process an event."""
        with self.lock:
            self.updated = monotonic()
            self._take(event)

    def _take(self, event: Event) -> None:
        for name, seconds in event.get("time", {}).items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        kind = event["event"]
        if kind in {"run-started", "run-resumed"}:
            chosen = (event[name] for name in ("env", "collector", "trainer", "searcher"))
            self.label = f"{event['run']}: {', '.join(chosen)}, seed {event['seed']}"
            self.plan = RunPlan.of(event)
            self.finished = event.get("finished", 0)
        elif kind == "workflow-started":
            self.current = event
            self.curve.clear()
        elif kind == "update":
            self.curve.append(event)
            self.plan.take(event)
            self.paces.append((event["transitions"], event["time"]["work"]))
        elif kind == "workflow-finished":
            self.finished += 1
            self.compliant += bool(event["compliant"])
            self.current = {}
            self.recent.append(event)
            self.plan.take(event)
            self.says = tuple(event.get("says", ())) or self.says
            self.best = event if event["best"] else self.best
        elif kind == "run-finished":
            self.says = ()  # the summary ends with them

    @property
    def pace(self) -> float:
        """Return environment steps per second over the last updates."""
        seconds = sum(wall for _, wall in self.paces)
        return sum(steps for steps, _ in self.paces) / seconds if seconds else 0.0

    @property
    def share(self) -> float:
        """Return how much of the run is done, from 0 to 1."""
        return self.plan.share(self.finished, self.workflow_share)

    @property
    def used(self) -> int:
        """Return environment steps of the current workflow."""
        return int(self.curve[-1]["env_steps"]) if self.curve else 0

    @property
    def workflow_share(self) -> float:
        """Return how much of the current workflow's budget is spent."""
        budget = self.current.get("budget_steps", 0)
        return self.used / budget if budget else 0.0

    def draw(self, elapsed: float, *, whole: bool) -> list[RenderableType]:
        """Return all of a search, or only its progress while another one is active."""
        share = self.share
        left = self.plan.left(elapsed, share)
        bars = Table.grid(padding=(0, 2))
        bars.add_row(
            "trainings" if self.plan.joint else "workflows",
            ProgressBar(total=1.0, completed=share, width=30),
            f"{self.finished}/{self.plan.workflows}",
            f"{duration(elapsed)} elapsed, {'?' if left is None else duration(left)} left",
        )
        parts: list[RenderableType] = [Text(self.label, style="bold"), bars]
        if not whole:
            return parts
        if self.current:
            bars.add_row(
                self.plan.label(self.current),
                ProgressBar(total=1.0, completed=self.workflow_share, width=30),
                f"{self.used:,} of {self.current['budget_steps']:,} steps",
                self._until_end(),
            )
        return [*parts, *self._curves(), self._numbers()]

    def _until_end(self) -> str:
        """Return what the present training still has to do."""
        left, rate = self.current["budget_steps"] - self.used, self.pace
        if self.plan.joint and left <= 0:
            return "now it is evaluated"
        return f"at most {duration(left / rate)} left" if rate else ""

    def _curves(self) -> Iterator[Table]:
        if not self.curve:
            return
        curves = Table.grid(padding=(0, 2))
        latest = self.curve[-1]
        name, more = "compliance", latest["secondary"].partition("@")[0]
        more += f" {fixed(latest['secondary_compliance'], 3)}"
        if self.plan.joint:
            name = judged_name(latest["definition"])
            more = f"of {fixed(latest['counted'], 1)} choices per episode"
        curves.add_row(
            name,
            Text(sparkline((one["compliance"] for one in self.curve), low=0.0), style="green"),
            f"{fixed(latest['compliance'], 3)}  ({more})",
        )
        returns = Text(sparkline(one["return"] for one in self.curve), style="cyan")
        curves.add_row("return", returns, fixed(latest["return"], 1))
        yield curves

    def _numbers(self) -> Text:
        wall = self.seconds.get("work", 0.0)
        lines = []
        if wall:
            parts = sorted(((self.seconds.get(name, 0.0), name) for name in PHASES), reverse=True)
            shares = "  ".join(f"{name} {s / wall:.0%}" for s, name in parts if s / wall >= 0.01)
            lines.append(f"{self.pace:,.0f} steps/s   {shares}")
        for event in self.recent:
            end = event["status"] if event["compliant"] else event["reason"]
            lines.append(
                f"  {event['workflow'] + 1:3d} {self.plan.label(event)}  "
                f"{fixed(event['compliance'])}  {fixed(event['score'], 1)}  {end}"
            )
        if self.says:
            lines += ["answer so far:", *(f"  {one}" for one in self.says)]
        elif self.best is not None and not self.plan.joint:
            lines.append(
                f"best so far: {self.best['order']}  return {fixed(self.best['score'], 1)}, "
                f"compliance {fixed(self.best['compliance'])}; {self.compliant} of "
                f"{self.finished} compliant"
            )
        return Text("\n".join(lines))


class LiveView:
    """Shows one or several searches until they are done."""

    def __init__(self) -> None:
        self.panels: list[RunPanel] = []
        self._tree = ProcessTree()
        self._started = monotonic()

    def watch(self, label: str) -> RunPanel:
        """Return the observer of one more search."""
        self.panels.append(RunPanel(label))
        return self.panels[-1]

    @contextmanager
    def showing(self, console: Console | None = None) -> Iterator[None]:
        """Draw while the searches run."""
        self._started = monotonic()
        with Live(console=console, get_renderable=self.render):
            yield

    def render(self) -> RenderableType:
        """Return what to draw now."""
        self._tree.look()
        elapsed = monotonic() - self._started
        parts: list[RenderableType] = []
        panels = list(self.panels)
        busy = max(panels, key=lambda panel: panel.updated, default=None)
        for panel in panels:
            with panel.lock:
                parts += panel.draw(elapsed, whole=panel is busy)
        return Group(*parts, self._tree.draw())
