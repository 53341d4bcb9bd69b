"""Two sessions side by side: was the same work done, and how much faster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wfbench.contract import NotComparableError, UsageError

from .comparison import Cell, Comparison, Criteria, not_comparable, power_note, settle
from .comparison_sides import Side, machine_notes, same_machine
from .comparison_work import (
    Key,
    clean_samples,
    difference_of_case,
    refuse_different_work,
    unmeasured,
)
from .model import Measurement, Session
from .statistics import (
    outliers,
    rate_estimate,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from .summary import BUSY, foreign_cores
from .verdicts import Verdict

Basis = Literal["auto", "rate", "ratio"]


@dataclass(frozen=True)
class Metric:
    """One figure of a sample."""

    unit: str
    value: Callable[[Measurement], float]
    higher_is_better: bool = False


METRICS: Mapping[str, Metric] = {
    "rate": Metric("transitions/s", lambda m: m.transitions / m.wall, higher_is_better=True),
    "cpu": Metric("CPU µs/transition", lambda m: 1e6 * m.cpu / m.transitions),
    "memory": Metric("MB", lambda m: m.memory / 2**20),
    "start-up": Metric("s of start-up", lambda m: m.start_up),
}


def compare_sessions(
    old: Side,
    new: Side,
    *,
    metric: str = "rate",
    basis: Basis = "auto",
    reference: str | None = None,
    criteria: Criteria | None = None,
) -> Comparison:
    """Every case that both sides have measured; NotComparableError if the workloads differ."""
    criteria = criteria or Criteria()
    if metric not in METRICS:
        raise UsageError(f"there is no metric {metric!r}; choose from {', '.join(METRICS)}")
    refuse_different_work(old, new)
    keys, alone = _common(old.session, new.session)
    relative = _relative(basis, old, new, keys)
    if reference is not None and not relative:
        raise UsageError("a reference is given, but figures are compared as they are")
    cells, references = [], {}
    for n_envs in dict.fromkeys(count for _, count in keys):
        labels = [label for label, count in keys if count == n_envs]
        if relative:
            references[n_envs] = _reference(labels, n_envs, reference)
        cells += [
            _cell(old, new, (label, n_envs), metric, references.get(n_envs))
            for label in labels
            if references.get(n_envs) != label
        ]
    if not cells:
        raise NotComparableError(_nothing_left(alone, relative=relative))
    settled = settle(cells, criteria)
    if not relative:
        settled = tuple(_doubted(cell, _busy(old, new)) for cell in settled)
    return Comparison(
        kind="bench",
        old=(old.name,),
        new=(new.name,),
        basis=_basis_line(METRICS[metric], references),
        cells=settled,
        criteria=criteria,
        notes=(
            *_notes(old, new, alone, settled, criteria),
            *_reference_notes(old, new, references, METRICS[metric]),
        ),
    )


def _relative(basis: Basis, old: Side, new: Side, keys: Sequence[Key]) -> bool:
    """Whether to compare multiples of a reference: they cancel what slowed a whole session down."""
    same = same_machine(old, new)
    if basis == "rate" and not same:
        raise NotComparableError(
            "absolute figures of different machines are not comparable; compare ratios to a "
            "reference case (--basis ratio)"
        )
    alone = len(keys) == len({n_envs for _, n_envs in keys})
    return basis == "ratio" or (basis == "auto" and not (same and alone))


def _common(old: Session, new: Session) -> tuple[list[Key], list[str]]:
    """The cases both have, and a sentence for each that only one has."""
    sides = [[(case.label, case.n_envs) for case in s.cases] for s in (old, new)]
    alone = [
        f"only old has {label}, {n} envs" for label, n in sides[0] if (label, n) not in sides[1]
    ]
    alone += [
        f"only new has {label}, {n} envs" for label, n in sides[1] if (label, n) not in sides[0]
    ]
    return [key for key in sides[0] if key in sides[1]], alone


def _reference(labels: Sequence[str], n_envs: int, wanted: str | None) -> str:
    if wanted is None:
        return labels[0]
    if wanted not in labels:
        raise NotComparableError(
            f"the reference {wanted!r} was not measured with {n_envs} envs on both sides; "
            f"{', '.join(labels)} were"
        )
    return wanted


def _nothing_left(alone: Sequence[str], *, relative: bool) -> str:
    if relative:
        return (
            "absolute figures of different machines are not comparable, and a ratio needs two "
            "cases that both sides have; measure a reference case such as sequential as well"
        )
    return f"no case was measured on both sides: {'; '.join(alone)}"


def _cell(old: Side, new: Side, key: Key, metric: str, reference: str | None) -> Cell:
    label, n_envs = key
    measure = METRICS[metric]
    values = [_values(side.session, key, measure, reference) for side in (old, new)]
    cell = Cell(
        name=f"{label}, {n_envs} envs",
        metric=measure.unit if reference is None else f"x {reference}",
        scale="ratio",
        samples=(len(values[0]), len(values[1])),
        higher_is_better=measure.higher_is_better,
    )
    reason = difference_of_case(old.session, new.session, key) or unmeasured(old, new, key)
    if reason is None and not all(values):
        reason = f"no round has a sound sample of both it and {reference}"
    if reason is not None:
        return not_comparable(cell, reason)
    far = sum(len(outliers(one)) for one in values)
    return replace(
        cell,
        old=rate_estimate(values[0]),
        new=rate_estimate(values[1]),
        effect=unpaired_ratio_estimate(values[1], values[0]),
        test=unpaired_permutation_test(*([math.log(v) for v in one] for one in values[::-1])),
        reason=f"{far} far from the others, kept" if far else "",
    )


def _values(session: Session, key: Key, metric: Metric, reference: str | None) -> list[float]:
    """One value per clean sample: the figure, or how many times that of the reference."""
    own = {s.round: metric.value(m) for s in clean_samples(session, key) if (m := s.measurement)}
    if reference is None:
        return list(own.values())
    others = clean_samples(session, (reference, key[1]))
    base = {s.round: metric.value(m) for s in others if (m := s.measurement)}
    return [value / base[number] for number, value in own.items() if number in base]


def _basis_line(metric: Metric, references: Mapping[int, str]) -> str:
    if not references:
        return f"{metric.unit}, new / old, same machine"
    names = ", ".join(dict.fromkeys(references.values()))
    return f"{metric.unit} as a multiple of {names} in the same round, new / old"


def _notes(
    old: Side, new: Side, alone: Sequence[str], cells: Sequence[Cell], criteria: Criteria
) -> Iterator[str]:
    yield from machine_notes(old, new)
    yield from alone
    if old.session.settings.seed != new.session.settings.seed:
        yield "the seeds differ, so that equal work cannot be proved"
    for word, cores in _busy(old, new).items():
        yield f"other programs used up to {cores:.1f} cores while {word} was measured"
    for word, side in (("old", old), ("new", new)):
        lost = sum(not sample.clean for sample in side.session.samples)
        if lost:
            yield f"{lost} samples of {word} failed or are marked, and are left out"
    note = power_note(cells, criteria)
    if note is not None:
        yield note


def _reference_notes(
    old: Side, new: Side, references: Mapping[int, str], metric: Metric
) -> Iterator[str]:
    """What a comparison of multiples does not judge: whether the reference itself has changed."""
    if not same_machine(old, new):
        return
    for n_envs, label in references.items():
        sides = [_values(side.session, (label, n_envs), metric, None) for side in (old, new)]
        if all(sides):
            first, second = (rate_estimate(values).value for values in sides)
            yield (
                f"the reference itself, {label}, {n_envs} envs: {_shown(first)} -> "
                f"{_shown(second)} {metric.unit}, which is not judged (--basis rate does)"
            )


def _busy(old: Side, new: Side) -> dict[str, float]:
    """By side, the cores that others used at most, where that disturbed a case."""
    found = {}
    for word, side in (("old", old), ("new", new)):
        taken = [
            [m for s in side.session.of_case(index) if (m := s.measurement) is not None]
            for index in range(len(side.session.cases))
        ]
        cores = max((foreign_cores(one) or 0.0 for one in taken), default=0.0)
        if cores > BUSY:
            found[word] = cores
    return found


def _doubted(cell: Cell, busy: Mapping[str, float]) -> Cell:
    """Others on the machine may have caused what absolute figures show: it proves nothing."""
    if not busy or cell.verdict not in {Verdict.IMPROVED, Verdict.REGRESSED}:
        return cell
    reason = f"{cell.verdict}, but the machine was busy with something else"
    return replace(cell, verdict=Verdict.INCONCLUSIVE, reason=reason)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
