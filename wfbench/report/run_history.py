"""One figure over time, across runs that did the same work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from wfbench.contract import UsageError

from .catalogue import RunRecord

_SHOWN = ("complete",)


@dataclass(frozen=True)
class Entry:
    """The figure of one run."""

    record: RunRecord
    value: float
    change: float | None
    """Relative to the run before; None for the first, and where that was 0."""


@dataclass(frozen=True)
class History:
    """A figure over time."""

    figure: str
    entries: tuple[Entry, ...]

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return fmean(entry.value for entry in self.entries)

    @property
    def deviation(self) -> float | None:
        """Standard deviation over the runs, if there are several."""
        values = [entry.value for entry in self.entries]
        return stdev(values) if len(values) > 1 else None

    @property
    def machines(self) -> int:
        """On how many kinds of machine they ran."""
        return len({entry.record.machine for entry in self.entries})


def history_of(records: Sequence[RunRecord], run: RunRecord, figure: str | None) -> History:
    """The figure in every complete run of the same workload as `run`; default: its first figure."""
    if not run.figures:
        raise UsageError(f"run {run.name} has no figure of its own to follow")
    chosen = next(iter(run.figures)) if figure is None else figure
    if chosen not in run.figures:
        known = ", ".join(run.figures)
        raise UsageError(f"run {run.name} has no figure {chosen!r}; choose from: {known}")
    same = [
        record
        for record in records
        if record.workload == run.workload
        and record.status in _SHOWN
        and chosen in (record.figures or {})
    ]
    if not same:
        raise UsageError(
            f"no complete run does the same work as {run.name}, so there is no history"
        )
    values = [(record.figures or {})[chosen] for record in same]
    before: list[float | None] = [None, *values[:-1]]
    return History(
        chosen,
        tuple(
            Entry(record, value, None if not last else (value - last) / abs(last))
            for record, value, last in zip(same, values, before, strict=True)
        ),
    )


def latest(records: Sequence[RunRecord]) -> RunRecord:
    """The latest complete run that has figures."""
    for record in reversed(records):
        if record.status in _SHOWN and record.figures:
            return record
    raise UsageError("there is no complete run; `wfbench run` or `wfbench bench` makes one")
