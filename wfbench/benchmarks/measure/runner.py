"""Run a session: every sample in a fresh process, whatever happens to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wfbench.benchmarks.measure.model import Case, Sample, Session, Settings
from wfbench.benchmarks.measure.rounds import measure_group
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.collecting.seeding import Purpose, purpose_seed

_SHUFFLES = 1_000_000
"""Index from which seeds shuffle the rounds, apart from the seeds of the rounds themselves."""

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
    """Measure every case in every round and keep nothing.

    Cases with as many environments take turns with the first of them, unless samples may be
    skipped. Then the first round goes from few environments to many, and what was measured in it
    decides about the rest. If `enough` ends it after fewer rounds, the settings of the session have
    that number.
    """
    session = Session(tuple(cases), settings, ())
    report = progress or (lambda _: None)
    report(session)
    for number, planned in enumerate(schedule(len(cases), settings)):
        if skip is not None and number == 0:
            planned.sort(key=lambda one: cases[one.case].n_envs)
        for group in _groups(planned, cases, together=settings.turns and skip is None):
            why = None if skip is None else skip(session, group[0])
            if why is None:
                samples = measure_group(group, cases, settings)
            else:
                samples = iter([replace(group[0], skipped=why)])
            for sample in samples:
                taken = replace(sample, position=len(session.samples))
                session = replace(session, samples=(*session.samples, taken))
                report(session)
        if enough is not None and enough(session):
            return replace(session, settings=replace(settings, rounds=number + 1))
    return session


def _groups(
    planned: Sequence[Sample], cases: Sequence[Case], *, together: bool
) -> list[list[Sample]]:
    """Return which samples of a round are taken beside each other, the first case at the front."""
    if not together:
        return [[one] for one in planned]
    groups: dict[int, list[Sample]] = {}
    for one in planned:
        groups.setdefault(cases[one.case].n_envs, []).append(one)
    firsts = [min(one.case for one in group) for group in groups.values()]
    return [sorted(group, key=lambda one: one.case not in firsts) for group in groups.values()]


def schedule(num_cases: int, settings: Settings) -> Iterator[list[Sample]]:
    """Yield the samples to take in each round: every case once, in a sequence that changes.

    What slows the machine down for a while then slows all cases down alike. All cases of a round
    have the same seed, so that they can be compared with each other.
    """
    for number in range(settings.rounds):
        seed = purpose_seed(settings.seed, Purpose.BENCH, number)
        shuffle = purpose_seed(settings.seed, Purpose.BENCH, _SHUFFLES + number)
        sequence = np.random.default_rng(shuffle).permutation(num_cases)
        places = enumerate(sequence, start=number * num_cases)
        yield [Sample(int(case), number, place, seed) for place, case in places]
