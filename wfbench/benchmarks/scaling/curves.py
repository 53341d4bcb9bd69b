"""The curves of a session: what was measured by environments and by workers, and what follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from wfbench.benchmarks.measure.model import Case, Measurement, Session
from wfbench.benchmarks.statistics.intervals import Estimate, rate_estimate
from wfbench.settings.selection import format_selector, parse_selector

from .costs import StepCosts, StepPoint, fit_costs
from .growth import Growth, fit_growth
from .points import PARALLEL, asked_workers

Along = Literal["environments", "workers"]

CLUSTERS = ((64, "64 cores"), (640, "10 nodes of 64 cores"))
"""Cores for which a prediction is made, and how they are called."""


@dataclass(frozen=True)
class CurveSample:
    """One point of a curve; figures are None where it was left out or failed."""

    x: int
    rate: Estimate | None = None
    cpu_us: Estimate | None = None
    memory: Estimate | None = None
    problem: str = ""


@dataclass(frozen=True)
class GrowthCurve:
    """One collector along one axis, and what each of its figures does."""

    collector: str
    along: Along
    n_envs: int | None
    """With workers: the number of environments."""
    samples: tuple[CurveSample, ...]
    rate: Growth
    """Of transitions per second."""
    cpu: Growth
    """Of transitions per CPU second."""
    memory: Growth
    """Of x per byte: flat where memory grows in proportion to x."""


@dataclass(frozen=True)
class Prediction:
    """A rate that follows from the costs of a collector, beside the measured one if there is."""

    collector: str
    n_envs: int
    workers: int
    cores: int
    where: str
    rate: float
    shares: dict[str, float]
    """Of the predicted time, by what it is spent on."""
    measured: float | None = None


@dataclass(frozen=True)
class CollectorCosts:
    """What a collector's steps cost, or why that cannot be told, and what it predicts."""

    collector: str
    costs: StepCosts | None
    why: str
    predictions: tuple[Prediction, ...]


def growth_curves(session: Session) -> list[GrowthCurve]:
    """Return every curve with at least two points: by environments first, then by workers."""
    by_envs: dict[str, list[int]] = {}
    by_workers: dict[tuple[str, int], list[int]] = {}
    for index, case in enumerate(session.cases):
        by_envs.setdefault(case.label, []).append(index)
        if asked_workers(case):
            by_workers.setdefault((base_name(case), case.n_envs), []).append(index)
    found = [
        _curve(session, base_name(session.cases[cases[0]]), "environments", None, cases)
        for cases in by_envs.values()
        if len(cases) > 1
    ]
    return found + [
        _curve(session, name, "workers", n_envs, cases)
        for (name, n_envs), cases in by_workers.items()
        if len(cases) > 1
    ]


def collector_costs(session: Session, cores: int) -> list[CollectorCosts]:
    """Return what each collector with workers costs, and what it would reach elsewhere.

    Points with more than twice as many workers as cores are not fitted: the prediction for them is
    checked.
    """
    points: dict[str, list[StepPoint]] = {}
    for index, case in enumerate(session.cases):
        clean = session.clean(index)
        if clean and asked_workers(case) is not None:
            taken = [*clean.values()]
            point = StepPoint(
                n_envs=case.n_envs,
                workers=_workers(case, taken[0], cores),
                seconds=fmean(m.wall / m.vector_steps for m in taken),
                cpu=fmean(m.cpu / m.vector_steps for m in taken),
            )
            points.setdefault(base_name(case), []).append(point)
    return [_costs(name, given, cores) for name, given in points.items()]


def base_name(case: Case) -> str:
    """Return the selector of a case's collector without its number of workers."""
    name, parts = parse_selector(case.label)
    return format_selector(name, [part for part in parts if part[0] not in PARALLEL])


def _costs(name: str, points: list[StepPoint], cores: int) -> CollectorCosts:
    held = [point for point in points if point.workers > 2 * cores]
    fitted = fit_costs([point for point in points if point not in held], cores)
    if isinstance(fitted, str):
        return CollectorCosts(name, None, fitted, ())

    def predict(n: int, workers: int, on: int, where: str, took: float | None = None) -> Prediction:
        parts = fitted.parts(n, workers, on)
        whole = sum(parts.values())
        shares = {key: value / whole for key, value in parts.items()}
        measured = None if took is None else n / took
        return Prediction(name, n, workers, on, where, n / whole, shares, measured)

    checked = [predict(p.n_envs, p.workers, cores, "here", p.seconds) for p in held]
    sizes = sorted({point.n_envs for point in points})
    asked = dict.fromkeys((sizes[len(sizes) // 2], sizes[-1]))
    ahead = [
        predict(n, count, count, where) for count, where in CLUSTERS for n in asked if n >= count
    ]
    return CollectorCosts(name, fitted, "", (*checked, *ahead))


def _workers(case: Case, taken: Measurement, cores: int) -> int:
    """Return how many workers a case had.

    Where the collector decided, messages tell: each worker gets one per step and answers it. A
    collector without such messages is taken to use every core.
    """
    told = round(taken.messages / taken.vector_steps / 2)
    return min(case.n_envs, asked_workers(case) or told or cores)


def _curve(
    session: Session, name: str, along: Along, n_envs: int | None, cases: list[int]
) -> GrowthCurve:
    points = sorted((_sample(session, index, along) for index in cases), key=lambda one: one.x)
    taken = [(_x(session.cases[index], along), session.clean(index).values()) for index in cases]

    def growth(value: Callable[[float, Measurement], float]) -> Growth:
        return fit_growth([(x, [value(x, m) for m in some]) for x, some in taken if some])

    return GrowthCurve(
        collector=name,
        along=along,
        n_envs=n_envs,
        samples=tuple(points),
        rate=growth(lambda _, m: m.rate),
        cpu=growth(lambda _, m: 1e6 / _cpu_us(m)),
        memory=growth(lambda x, m: x / m.memory),
    )


def _sample(session: Session, index: int, along: Along) -> CurveSample:
    case, clean = session.cases[index], [*session.clean(index).values()]
    x = _x(case, along)
    if not clean:
        problems = (s.problem for s in session.of_case(index) if s.problem is not None)
        return CurveSample(x, problem=next(problems, "not measured"))
    return CurveSample(
        x,
        rate_estimate([m.rate for m in clean]),
        rate_estimate([_cpu_us(m) for m in clean]),
        rate_estimate([float(m.memory) for m in clean]),
    )


def _x(case: Case, along: Along) -> int:
    return case.n_envs if along == "environments" else asked_workers(case) or 0


def _cpu_us(taken: Measurement) -> float:
    """Return the CPU time of a transition; the system's clock may be too coarse to see any."""
    return max(taken.cpu_us, 1e-3)
