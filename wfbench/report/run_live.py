"""A run as a person watches it: progress, learning curves, speed, machine, the best so far."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

from wfbench.report.run_lines import number

_BARS = "▁▂▃▄▅▆▇█"
_CURVE = 40
_RECENT = 5
_PACES = 20
"""Updates over which the speed is averaged."""
_SAMPLE = 1.0
"""Seconds between looks at the process tree."""
_PER_SECOND = 4
_SHARES = ("env", "inference", "transport", "idle", "shaping", "update", "search", "store", "open")


def sparkline(values: list[float], low: float | None = None) -> str:
    """Values as a row of bars, the lowest and the highest at the ends of the scale."""
    known = [value for value in values if value == value]  # noqa: PLR0124 - not NaN
    if not known:
        return ""
    bottom = min(known) if low is None else low
    span = max(max(known) - bottom, 1e-9)
    top = len(_BARS) - 1
    return "".join(_BARS[max(0, min(top, round((v - bottom) / span * top)))] for v in known)


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class ProcessTree:
    """Processor time and memory of this process and all below it, looked at once a second."""

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
        for process in self._tree():
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory += process.memory_info().rss
            except psutil.Error:
                continue
            spent[process.pid] = times.user + times.system
        if self._spent:
            used = sum(spent[pid] - self._spent.get(pid, 0.0) for pid in spent)
            self.cores = used / passed
        self._looked, self._spent = now, spent
        self.memory, self.processes = memory, len(spent)

    @staticmethod
    def _tree() -> list[psutil.Process]:
        own = psutil.Process()
        try:
            return [own, *own.children(recursive=True)]
        except psutil.Error:
            return [own]


@dataclass
class RunPanel:
    """What is shown of one search."""

    label: str
    workflows: int = 0
    finished: int = 0
    compliant: int = 0
    current: Mapping[str, Any] = field(default_factory=dict)
    latest: Mapping[str, Any] = field(default_factory=dict)
    best: Mapping[str, Any] | None = None
    recent: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    compliance: deque[float] = field(default_factory=lambda: deque(maxlen=_CURVE))
    returns: deque[float] = field(default_factory=lambda: deque(maxlen=_CURVE))
    seconds: dict[str, float] = field(default_factory=dict)
    paces: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_PACES))
    told: float = 0.0
    """When it last heard of something."""
    lock: Lock = field(default_factory=Lock)
    """Held while the numbers change, and while they are drawn in another thread."""

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Take an event in."""
        with self.lock:
            self.told = monotonic()
            self._take(event)

    def _take(self, event: Mapping[str, Any]) -> None:
        for name, seconds in event.get("time", {}).items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        kind = event["event"]
        if kind in {"run-started", "run-resumed"}:
            self.workflows = event["workflows"]
            self.finished = event.get("finished", 0)
        elif kind == "workflow-started":
            self.current, self.latest = event, {}
            self.compliance.clear()
            self.returns.clear()
        elif kind == "update":
            self.latest = event
            self.paces.append((event["transitions"], event["time"]["wall"]))
            self.compliance.append(_or_nan(event["compliance"]))
            self.returns.append(_or_nan(event["return"]))
        elif kind == "workflow-finished":
            self._workflow_done(event)

    @property
    def pace(self) -> float:
        """Environment steps per second over the last updates."""
        seconds = sum(wall for _, wall in self.paces)
        return sum(steps for steps, _ in self.paces) / seconds if seconds else 0.0

    @property
    def share(self) -> float:
        """How much of the run is done, from 0 to 1."""
        return min(1.0, (self.finished + self.workflow_share) / max(1, self.workflows))

    @property
    def workflow_share(self) -> float:
        """How much of the present workflow's budget is spent."""
        budget = self.current.get("budget_steps", 0)
        return self.latest.get("env_steps", 0) / budget if budget else 0.0

    def _workflow_done(self, event: Mapping[str, Any]) -> None:
        self.finished += 1
        self.compliant += bool(event["compliant"])
        self.current, self.latest = {}, {}
        self.recent.append(event)
        if event["best"]:
            self.best = event


class LiveView:
    """Shows one or several searches until they are done."""

    def __init__(self) -> None:
        self.panels: list[RunPanel] = []
        self._tree = ProcessTree()
        self._started = monotonic()

    def watch(self, label: str) -> RunPanel:
        """The observer of one more search."""
        self.panels.append(RunPanel(label))
        return self.panels[-1]

    @contextmanager
    def showing(self, console: Console | None = None) -> Iterator[None]:
        """Draw while the searches run."""
        self._started = monotonic()
        live = Live(console=console, get_renderable=self.render, refresh_per_second=_PER_SECOND)
        with live:
            yield

    def render(self) -> RenderableType:
        """The picture of this moment."""
        self._tree.look()
        parts: list[RenderableType] = []
        panels = list(self.panels)
        busy = max(panels, key=lambda panel: panel.told, default=None)
        for panel in panels:
            with panel.lock:
                parts += self._panel(panel, whole=panel is busy)
        return Group(*parts, self._machine())

    def _panel(self, panel: RunPanel, *, whole: bool) -> list[RenderableType]:
        """All of a search, or just how far it is where another one has its turn."""
        elapsed = monotonic() - self._started
        bars = Table.grid(padding=(0, 2))
        share = panel.share
        bars.add_row(
            "workflows",
            ProgressBar(total=1.0, completed=share, width=30),
            f"{panel.finished}/{panel.workflows}",
            f"{duration(elapsed)} gone, {_left(elapsed, share)} left",
        )
        current = panel.current
        if current and whole:
            used, rate = panel.latest.get("env_steps", 0), panel.pace
            left = (current["budget_steps"] - used) / rate if rate else 0.0
            bars.add_row(
                str(current["order"]),
                ProgressBar(total=1.0, completed=panel.workflow_share, width=30),
                f"{used:,} of {current['budget_steps']:,} steps",
                f"at most {duration(left)} left" if rate else "",
            )
        parts: list[RenderableType] = [Text(panel.label, style="bold"), bars]
        if panel.latest and whole:
            parts.append(self._curves(panel))
        if whole:
            parts.append(self._numbers(panel))
        return parts

    @staticmethod
    def _curves(panel: RunPanel) -> Table:
        curves = Table.grid(padding=(0, 2))
        latest = panel.latest
        curves.add_row(
            "compliance",
            Text(sparkline(list(panel.compliance), low=0.0), style="green"),
            f"{number(latest['compliance'], 3)}  "
            f"({latest['beside'].partition('@')[0]} {number(latest['beside_compliance'], 3)})",
        )
        curves.add_row(
            "return",
            Text(sparkline(list(panel.returns)), style="cyan"),
            number(latest["return"], 1),
        )
        return curves

    @staticmethod
    def _numbers(panel: RunPanel) -> Text:
        wall = panel.seconds.get("wall", 0.0)
        lines = []
        if wall:
            told = sorted(((panel.seconds.get(name, 0.0), name) for name in _SHARES), reverse=True)
            shares = "  ".join(f"{name} {s / wall:.0%}" for s, name in told if s / wall >= 0.01)
            lines.append(f"{panel.pace:,.0f} steps/s   {shares}")
        for event in panel.recent:
            end = event["status"] if event["compliant"] else event["reason"]
            lines.append(
                f"  {event['workflow'] + 1:3d} {event['order']}  {number(event['compliance'])}  "
                f"{number(event['score'], 1)}  {end}"
            )
        if panel.best is not None:
            best = panel.best
            lines.append(
                f"best so far: {best['order']}  return {number(best['score'], 1)}, compliance "
                f"{number(best['compliance'])}; {panel.compliant} of {panel.finished} compliant"
            )
        return Text("\n".join(lines))

    def _machine(self) -> Text:
        tree = self._tree
        many = f" in {tree.processes} processes" if tree.processes > 1 else ""
        return Text(
            f"{tree.cores:.0%} of a core (of {os.cpu_count()} cores), "
            f"{tree.memory / 2**20:,.0f} MiB{many}",
            style="dim",
        )


def _left(elapsed: float, share: float) -> str:
    return duration(elapsed * (1 - share) / share) if share > 0.001 else "?"


def _or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)
