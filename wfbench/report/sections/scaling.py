"""How collectors grow: curves by environments and workers, what they do, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from wfbench.benchmarks.scaling.curves import (
    CollectorCosts,
    CurveSample,
    GrowthCurve,
    Prediction,
)
from wfbench.benchmarks.scaling.growth import Growth
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.report.document import Curves, Exhibit
from wfbench.report.written import fixed, short

from .common import table

_MB = 2**20
_DECADES = 30.0
"""Where rates differ by more than this factor, both axes are logarithmic."""

CurveRow = tuple[str, int, Estimate]
"""Collector, environments or workers, and a figure."""


def scaling_data(
    curves: Sequence[GrowthCurve], costs: Sequence[CollectorCosts]
) -> dict[str, list[dict[str, Any]]]:
    """Return curves with what they do, and costs with predictions, as JSON values."""
    return {"curves": [asdict(one) for one in curves], "costs": [asdict(one) for one in costs]}


def scaling_exhibits(
    curves: Sequence[GrowthCurve], costs: Sequence[CollectorCosts]
) -> Iterator[Exhibit]:
    """Yield what each collector does, the curves, and what more cores would bring."""
    rows = [(_name(one), one.along, *_statements(one)) for one in curves]
    yield Exhibit(
        title="How does each collector grow?",
        reading="The simplest curve that no point contradicts: flat; linear; a knee, above which "
        "more brings nothing; or a fall. A point contradicts a curve that is more than 20 % away "
        "and outside its 95 % interval, whose width is that of all points of the curve together. "
        "“Cannot tell” says why.",
        table=table("collector | along | transitions/s | CPU per transition | memory", rows),
    )
    for along in ("environments", "workers"):
        known = [one for one in curves if one.along == along]
        if known:
            yield rate_curves(along, _points(known, lambda one: one.rate))
            unit = "CPU (µs/transition) ±"
            yield _curves("CPU per transition", unit, along, _points(known, lambda one: one.cpu_us))
            memory = _points(known, lambda one: one.memory, _MB)
            yield _curves("memory", "memory (MB) .0 ±", along, memory)
    skipped = [
        (_name(one), one.along, sample.x, sample.problem)
        for one in curves
        for sample in one.samples
        if sample.problem
    ]
    if skipped:
        yield Exhibit(
            title="Which points are missing?",
            reading="Points that were left out or failed, and why.",
            table=table("collector | along | number | why", skipped),
        )
    if costs:
        yield _cost_table(costs)
        predictions = [prediction for one in costs for prediction in one.predictions]
        if predictions:
            yield _prediction_table(predictions)


def rate_curves(along: str, rows: Sequence[CurveRow]) -> Exhibit:
    """Return the rates of collectors by the number of something."""
    return _curves("transitions per second", "rate (transitions/s) .0 ±", along, rows)


def growth_lines(curves: Sequence[GrowthCurve]) -> tuple[str, ...]:
    """Return a sentence per curve about its rate."""
    return tuple(f"{_name(one)}, by {one.along}: {_statements(one)[0]}" for one in curves)


def _name(curve: GrowthCurve) -> str:
    return curve.collector if curve.n_envs is None else f"{curve.collector}, {curve.n_envs} envs"


def _statements(curve: GrowthCurve) -> tuple[str, str, str]:
    """Return in words what rate, CPU per transition and memory do."""
    each = curve.along.removesuffix("s")
    rate, cpu, memory = curve.rate, curve.cpu, curve.memory
    told = (
        {
            "flat": f"flat, {short(rate.level)}",
            "linear": f"linear, {short(rate.level)} per {each}",
            "knee": f"{_knee(rate)}, {short(rate.level)} beyond",
            "falls": f"falls beyond {fixed(rate.knee, 0)}, {short(rate.level)} there",
        },
        {
            "flat": f"flat, {_over(1e6, cpu)} µs",
            "linear": "falls in proportion",
            "knee": f"{_knee(cpu)}, {_over(1e6, cpu)} µs beyond",
            "falls": f"rises beyond {fixed(cpu.knee, 0)}, {_over(1e6, cpu)} µs there",
        },
        {
            "flat": f"linear, {_over(1 / 1024, memory)} kB per {each}",
            "linear": f"flat, {_over(1 / _MB, memory)} MB",
            "knee": f"{_knee(memory)}, {_over(1 / 1024, memory)} kB per {each} beyond",
            "falls": f"more than linear beyond {fixed(memory.knee, 0)}",
        },
    )
    fitted = (rate, cpu, memory)
    first, second, third = (
        f"cannot tell: {one.why}" if one.kind == "unknown" else words[one.kind]
        for one, words in zip(fitted, told, strict=True)
    )
    return first, second, third


def _knee(growth: Growth) -> str:
    return "" if growth.knee is None else f"knee at {float(f'{growth.knee:.2g}'):,g}"


def _over(factor: float, growth: Growth) -> str:
    return short(factor / growth.level) if growth.level else "-"


def _points(
    curves: Sequence[GrowthCurve],
    value: Callable[[CurveSample], Estimate | None],
    unit: float = 1.0,
) -> list[CurveRow]:
    found = []
    for curve in curves:
        for sample in curve.samples:
            if (known := value(sample)) is not None:
                ends = (None if end is None else end / unit for end in (known.low, known.high))
                found.append((_name(curve), sample.x, Estimate(known.value / unit, *ends)))
    return found


def _curves(what: str, head: str, along: str, rows: Sequence[CurveRow]) -> Exhibit:
    values = [estimate.value for _, _, estimate in rows]
    log = bool(values) and max(values) > _DECADES * min(values)
    scale = "; both axes are logarithmic" if log else ""
    y = head.partition(" (")[0]
    said = f"{what[0].upper()}{what[1:]} by the number of {along}"
    return Exhibit(
        title=f"How does {'it' if y == 'rate' else what} scale with {along}?",
        reading=f"{said}, with 95 % intervals{scale}.",
        table=table(("collector", along, head), rows),
        picture=Curves(along, y, "collector", "low", "high", from_zero=not log, log=log),
    )


def _cost_table(costs: Sequence[CollectorCosts]) -> Exhibit:
    names = ("delay", "fixed", "message", "transition", "work", "wait")
    rows = [
        (one.collector, *(1e6 * getattr(one.costs, name) for name in names), one.costs.error * 100)
        if one.costs is not None
        else (one.collector, *(None,) * len(names), None)
        for one in costs
    ]
    reasons = "".join(f" {one.collector}: cannot tell, {one.why}." for one in costs if one.why)
    heads = (
        "collector | delay (µs/step) | fixed (µs/step) | messages (µs/worker) | "
        "caller (µs/transition) | "
        "workers, computing (µs/transition) | workers, waiting (µs/transition) | "
        "largest error (%) .0"
    )
    return Exhibit(
        title="What does a step cost?",
        reading="Fitted to all points with up to twice as many workers as cores: a step of n "
        "environments with W workers on C cores takes delay + fixed + messages · W + caller · n + "
        "computing · n / min(W, C) + waiting · n / W; all but delay and waiting is CPU time. The "
        f"error is that of the worst fitted point.{reasons}",
        table=table(heads, rows),
    )


def _prediction_table(predictions: Sequence[Prediction]) -> Exhibit:
    rows = [
        (
            *(one.collector, one.where, one.n_envs, one.workers, one.rate, one.measured),
            None if one.measured is None else 100 * (one.rate / one.measured - 1),
            *(100 * one.shares[name] for name in ("messages", "caller", "workers")),
        )
        for one in predictions
    ]
    heads = (
        "collector | where | environments | workers | predicted (transitions/s) .0 | "
        "measured (transitions/s) .0 | error (%) .0 | messages (%) .0 | caller (%) .0 | "
        "workers (%) .0"
    )
    return Exhibit(
        title="What would more cores bring?",
        reading="The costs of a step with other numbers of workers and cores, a worker per core. "
        "“Here” are points that were not fitted, so they check the prediction. Elsewhere a core "
        "and a message are taken to cost what they cost here. The last columns say what the "
        "predicted time is spent on.",
        table=table(heads, rows),
    )
