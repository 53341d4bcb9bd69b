"""Compare whatever two sides name: bench runs, or searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from wfbench.benchmarks.compare.joint_runs import compare_joint
from wfbench.benchmarks.compare.learning_runs import learning_run
from wfbench.benchmarks.compare.model import Comparison, Criteria
from wfbench.benchmarks.compare.searches import Margins, compare_learning
from wfbench.benchmarks.compare.sessions import Basis, compare_sessions, load_side
from wfbench.benchmarks.statistics.verdicts import ALPHA, MINIMUM_EFFECT
from wfbench.contract import NotComparableError, UsageError
from wfbench.search.history import read_searches
from wfbench.store.places import DEFAULT, find_run, run_kind

MetricName = Literal["rate", "cpu", "memory", "start-up"]


def compare_runs(
    old: Sequence[str | Path],
    new: Sequence[str | Path],
    *,
    out: Path = DEFAULT,
    metric: MetricName | None = None,
    basis: Basis | None = None,
    reference: str | None = None,
    steps: int | None = None,
    return_margin: float | None = None,
    compliance_margin: float | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    alpha: float = ALPHA,
) -> Comparison:
    """Compare two bench runs, or searches paired by their seeds.

    Each side names runs under `out` or by path, or one file that `wfbench bench --json` printed.
    `metric`, `basis` and `reference` are for bench runs; `steps` and the margins for searches.
    """
    _check_limits(
        {
            "alpha": (alpha, 1.0),
            "minimum_effect": (minimum_effect, 10.0),
            "compliance_margin": (compliance_margin, 1.0),
            "return_margin": (return_margin, math.inf),
            "steps": (steps, math.inf),
        }
    )
    criteria = Criteria(minimum_effect, alpha)
    sides = [_find(out, old), _find(out, new)]
    kinds = {"bench" if path.is_file() else run_kind(path) for side in sides for path in side}
    if kinds == {"bench"}:
        given = {"return_margin": return_margin, "compliance_margin": compliance_margin}
        _refuse("bench runs", steps=steps, **given)
        if any(len(side) > 1 for side in sides):
            raise UsageError("bench runs are compared one with one; give one run for each side")
        return compare_sessions(
            *(load_side(path) for [path] in sides),
            metric=metric or "rate",
            basis=basis or "auto",
            reference=reference,
            criteria=criteria,
        )
    if "bench" in kinds:
        raise NotComparableError("a bench run cannot be compared with a search")
    _refuse("searches", metric=metric, basis=basis, reference=reference)
    names = [tuple(map(str, side)) for side in sides]
    margins = Margins(return_margin, compliance_margin or Margins().compliance)
    searches = [[one for path in side for one in read_searches(path)] for side in sides]
    if all(one.joint for side in searches for one in side):
        _refuse("joint runs", steps=steps)
        return compare_joint(*searches, names=names, margins=margins, criteria=criteria)
    return compare_learning(
        *(list(map(learning_run, side)) for side in searches),
        names=names,
        steps=steps,
        margins=margins,
        criteria=criteria,
    )


def _find(out: Path, side: Sequence[str | Path]) -> list[Path]:
    names = [str(name) for name in side]
    if not names:
        raise UsageError("one side names no run")
    if len(set(names)) != len(names):
        raise UsageError(f"{','.join(names)}: a run is given twice")
    return [
        Path(name) if Path(name).is_file() and not (out / name).is_dir() else find_run(out, name)
        for name in names
    ]


def _check_limits(values: dict[str, tuple[float | None, float]]) -> None:
    for name, (value, limit) in values.items():
        if value is not None and not 0 < value < limit:
            below = "" if math.isinf(limit) else f" and below {limit:g}"
            raise UsageError(f"--{_flag(name)} is {value:g}; it must be above 0{below}")


def _refuse(what: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{_flag(name)} does not apply to {what}")


def _flag(name: str) -> str:
    return name.replace("_", "-")
