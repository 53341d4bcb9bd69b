"""Measuring on behalf of a verb: progress on standard error, samples in a run directory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from wfbench.bench.model import Case, Sample, Session, Settings
from wfbench.bench.runner import run_session
from wfbench.bench.saved import SessionWriter
from wfbench.report.bench import BenchProgress


@dataclass(frozen=True)
class Measured:
    """A session, and where its samples are kept."""

    session: Session
    path: Path | None


def measured(
    cases: Sequence[Case], settings: Settings, out: Path | None, name: str | None = None
) -> Measured:
    """Measure cases; without `out` nothing is kept."""
    with ExitStack() as stack:
        writer = None
        if out is not None:
            writer = stack.enter_context(SessionWriter(out, name, cases, settings, sys.argv[1:]))
        progress = stack.enter_context(BenchProgress(cases, settings))

        def took(sample: Sample) -> None:
            if writer is not None:
                writer.record(sample)
            progress.took(sample)

        session = run_session(cases, settings, took)
    return Measured(session, None if writer is None else writer.path)
