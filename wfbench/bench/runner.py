"""Runs a session: every sample in a fresh process, whatever happens to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wfbench.isolated import Isolated, IsolationError

from .model import Case, Measurement, Sample, Session, Settings
from .schedule import Slot, schedule
from .trial import DEADLINES, Failed, Order

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

_SLACK = 120.0
"""Seconds a sample has on top of its deadlines before its process counts as hung."""

Progress = Callable[[Sample], None]
"""Told each sample as soon as it is taken."""


def run_session(
    cases: Sequence[Case], settings: Settings, progress: Progress | None = None
) -> Session:
    """Measure every case in every round, one after the other."""
    samples = []
    for slot in schedule(len(cases), settings):
        samples.append(_take(cases[slot.case], slot, settings))
        if progress is not None:
            progress(samples[-1])
    return Session(tuple(cases), settings, tuple(samples))


def _take(case: Case, slot: Slot, settings: Settings) -> Sample:
    order = Order(case, slot.seed, settings.steps, settings.seconds)
    limit = DEADLINES.start + DEADLINES.step + settings.seconds + _SLACK
    process = Isolated("wfbench.bench.trial", ONE_THREAD)
    measurement, failure = None, None
    try:
        answer = process.ask(order, limit)
    except IsolationError as error:
        failure = str(error)
    else:
        if isinstance(answer, Failed):
            failure = answer.cause
        else:
            measurement = answer
            assert isinstance(measurement, Measurement)  # noqa: S101 (the protocol)
    finally:
        process.close()
    return Sample(
        slot.case, slot.round, slot.position, slot.seed, measurement=measurement, failure=failure
    )
