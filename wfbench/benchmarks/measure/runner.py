"""Run a session: every sample in a fresh process, whatever happens to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wfbench.benchmarks.measure.fresh_process import call_in_fresh_process
from wfbench.benchmarks.measure.model import Case, Sample, Session, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.benchmarks.measure.trial import DEADLINES
from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import CollectError, ship_local

_SHUFFLES = 1_000_000
"""Index from which seeds shuffle the rounds, apart from the seeds of the rounds themselves."""
_SLACK = 120.0
"""Seconds a sample has on top of its deadlines before its process counts as hung."""

SessionProgress = Callable[[Session], None]
"""Called with the session so far: once before the first sample, then after each."""
Skip = Callable[[Session, Sample], str | None]
"""Returns why a planned sample is left out; None if it is to be taken."""
Enough = Callable[[Session], bool]
"""Called after each round; tells whether to measure no more."""


def measure_session(
    cases: Sequence[Case],
    settings: Settings,
    *,
    out: Path,
    name: str | None = None,
    command: Sequence[str] = (),
    progress: SessionProgress | None = None,
    skip: Skip | None = None,
    enough: Enough | None = None,
) -> tuple[Session, Path]:
    """Measure every case in every round and keep each sample in a new run directory under `out`.

    Returns the session and its directory. `command` is what started it, for the record. `skip` and
    `enough` are as in `run_session`.
    """
    with SessionWriter(out, name, cases, settings, command) as writer:

        def record(session: Session) -> None:
            if session.samples:
                writer.record(session.samples[-1])
            if progress is not None:
                progress(session)

        try:
            session = run_session(cases, settings, record, skip, enough)
        except BaseException as error:
            error.add_note(f"samples so far are in {writer.path}")
            raise
        if session.settings != settings:
            writer.settle(session.settings)
        return session, writer.path


def run_session(
    cases: Sequence[Case],
    settings: Settings,
    progress: SessionProgress | None = None,
    skip: Skip | None = None,
    enough: Enough | None = None,
) -> Session:
    """Measure every case in every round, one after the other, and keep nothing.

    If samples may be skipped, the first round goes from few environments to many: what was measured
    then decides about the rest. If `enough` ends it after fewer rounds, the settings of the session
    have that number.
    """
    session = Session(tuple(cases), settings, ())
    report = progress or (lambda _: None)
    report(session)
    plan = list(schedule(len(cases), settings))
    if skip is not None:
        first = sorted(plan[: len(cases)], key=lambda one: cases[one.case].n_envs)
        plan[: len(cases)] = [replace(one, position=i) for i, one in enumerate(first)]
    for planned in plan:
        why = None if skip is None else skip(session, planned)
        if why is None:
            sample = _take(planned, cases[planned.case], settings)
        else:
            sample = replace(planned, skipped=why)
        session = replace(session, samples=(*session.samples, sample))
        report(session)
        whole = len(session.samples) % len(cases) == 0
        if whole and enough is not None and enough(session):
            return replace(session, settings=replace(settings, rounds=planned.round + 1))
    return session


def schedule(num_cases: int, settings: Settings) -> Iterator[Sample]:
    """Yield the samples to take: every case once per round, in a sequence that changes.

    What slows the machine down for a while then slows all cases down alike. All cases of a round
    have the same seed, so that they can be compared with each other.
    """
    position = 0
    for number in range(settings.rounds):
        seed = purpose_seed(settings.seed, Purpose.BENCH, number)
        shuffle = purpose_seed(settings.seed, Purpose.BENCH, _SHUFFLES + number)
        for case in np.random.default_rng(shuffle).permutation(num_cases):
            yield Sample(int(case), number, position, seed)
            position += 1


def _take(planned: Sample, case: Case, settings: Settings) -> Sample:
    limit = DEADLINES.start + DEADLINES.step + settings.seconds + _SLACK
    function = "wfbench.benchmarks.measure.trial:measure"
    asked = (case, planned.seed, settings, planned.round)
    try:
        found = call_in_fresh_process(function, asked, limit, ship_local(case.factory))
    except CollectError as error:
        return replace(planned, failure=str(error))
    return replace(planned, measurement=found)
