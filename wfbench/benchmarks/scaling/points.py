"""Which points a scaling bench measures, and which it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import psutil

from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session
from wfbench.host.manager import PluginHost
from wfbench.settings.selection import Selector

SIZES = (1, 10, 50, 200, 1_000, 5_000, 20_000)
"""Numbers of environments, unless others are given."""
SMOKE_SIZES = (1, 4, 16)
PARALLEL = ("workers", "threads")
"""Options that say how many work at the same time."""
LONGEST = 15.0
"""Seconds that opening a collector and its first collect may take before a point is left out."""


def worker_counts(cores: int) -> tuple[int, ...]:
    """Return numbers of workers from 1 to twice the cores: each of the first four, then doubled."""
    doubled = (2**power for power in range(3, cores.bit_length() + 1))
    return tuple(sorted({*range(1, min(4, 2 * cores) + 1), *doubled, cores, 2 * cores}))


def select_points(
    host: PluginHost,
    *,
    collectors: Sequence[Selector],
    env: str,
    n_envs: Sequence[int],
    workers: Sequence[int],
    policy: str,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Case]:
    """Return every collector on every number of environments, and with every number of workers.

    Workers are varied on the middle one of the numbers of environments, for collectors with an
    option of such a name. No point has more workers than environments.
    """
    cases = partial(
        select_cases, host, collectors=collectors, env=env, policy=policy, options=options
    )
    middle = sorted(n_envs)[len(n_envs) // 2]
    found = cases(n_envs=n_envs)
    for count in (count for count in workers if count <= middle):
        varied = cases(n_envs=[middle], shared=dict.fromkeys(PARALLEL, count))
        found += [case for case in varied if asked_workers(case) == count]
    return list({case.key: case for case in found}.values())


def asked_workers(case: Case) -> int | None:
    """Return the number of workers or threads that a case asks for; None if it has no such option.

    0 means that the collector decides.
    """
    return next((case.options[name] for name in PARALLEL if name in case.options), None)


def too_much(session: Session, planned: Sample) -> str | None:
    """Return why a point is left out: it would take too long or too much memory; else None.

    What it would take is extrapolated along a straight line from the two next smaller numbers of
    environments of the same collector. The first round decides for all.
    """
    if planned.round:
        return next((s.skipped for s in session.samples if s.case == planned.case), None)
    case = session.cases[planned.case]
    smaller: dict[int, Measurement] = {}
    for sample in session.samples:
        other = session.cases[sample.case]
        if other.label == case.label and other.n_envs < case.n_envs and sample.measurement:
            smaller[other.n_envs] = sample.measurement
    if len(smaller) < 2:
        return None
    before, nearest = sorted(smaller)[-2:]

    def expected(value: Callable[[Measurement], float]) -> float:
        first, second = value(smaller[before]), value(smaller[nearest])
        slope = max(0.0, second - first) / (nearest - before)
        return second + slope * (case.n_envs - nearest)

    seconds = expected(lambda m: m.start_up + m.warm_up)
    if seconds > LONGEST:
        said = f"opening and the first collect would take about {seconds:,.0f} s"
        return f"{said}, more than {LONGEST:.0f} s (from {nearest:,} environments)"
    memory, free = expected(lambda m: float(m.memory)), psutil.virtual_memory().available
    if memory > 0.5 * free:
        said = f"it would need about {memory / 2**30:,.1f} GB"
        return f"{said}, more than half of what is free (from {nearest:,} environments)"
    return None
