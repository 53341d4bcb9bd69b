"""Compare two bench sessions, if they did the same work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wfbench.benchmarks.compare.model import Cell, Comparison, Criteria, power_note, settle
from wfbench.benchmarks.measure.model import Measurement, Sample, Session
from wfbench.benchmarks.measure.saved import load_machine, load_session
from wfbench.benchmarks.measure.summary import BUSY, max_foreign_cores
from wfbench.benchmarks.statistics.intervals import (
    outliers,
    rate_estimate,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.decoding import decode
from wfbench.store.files import read_json
from wfbench.store.machine import same_machine

Basis = Literal["auto", "rate", "ratio"]

_JSON_SCHEMA = "bench/1"


Key = tuple[str, int]
"""The label of a case and its number of environments, which identify it on both sides."""
_NO_RATIO = (
    "absolute figures of different machines are not comparable, and a ratio needs two cases that "
    "both sides have; measure a reference case such as sequential as well"
)


@dataclass(frozen=True)
class Side:
    """A session and the machine it was measured on."""

    name: str
    session: Session
    machine: Mapping[str, Any] | None = None
    """None if unknown, as in a file that `wfbench bench --json` printed."""


@dataclass(frozen=True)
class Metric:
    """A figure of a sample that can be compared."""

    unit: str
    value: Callable[[Measurement], float]
    higher_is_better: bool = False


METRICS: Mapping[str, Metric] = {
    "rate": Metric("transitions/s", lambda m: m.transitions / m.wall, higher_is_better=True),
    "cpu": Metric("CPU µs/transition", lambda m: 1e6 * m.cpu / m.transitions),
    "memory": Metric("MB", lambda m: m.memory / 2**20),
    "start-up": Metric("s of start-up", lambda m: m.start_up),
}


def load_side(path: Path) -> Side:
    """Read a bench run's directory, or a file that holds what `wfbench bench --json` printed."""
    if path.is_dir():
        return Side(str(path), load_session(path), load_machine(path))
    values = read_json(path, _JSON_SCHEMA)
    for derived in ("schema", "run", "summaries", "equal_work"):
        values.pop(derived, None)
    session = decode(Session, values, str(path))
    for sample in session.samples:
        if not 0 <= sample.case < len(session.cases):
            raise UsageError(f"{path}: there is no case {sample.case}")
    return Side(str(path), session)


def compare_sessions(
    old: Side,
    new: Side,
    *,
    metric: str = "rate",
    basis: Basis = "auto",
    reference: str | None = None,
    criteria: Criteria | None = None,
) -> Comparison:
    """Compare every case that both sides measured; raise NotComparableError if the work differs."""
    criteria = criteria or Criteria()
    if metric not in METRICS:
        raise UsageError(f"there is no metric {metric!r}; choose from {', '.join(METRICS)}")
    _require_same_work(old, new)
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
        raise NotComparableError(
            _NO_RATIO if relative else f"no case was measured on both sides: {'; '.join(alone)}"
        )
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
    """Return whether to compare ratios to a reference, which cancel what slowed a whole session."""
    same = _on_same_machine(old, new)
    if basis == "rate" and not same:
        raise NotComparableError(
            "absolute figures of different machines are not comparable; compare ratios to a "
            "reference case (--basis ratio)"
        )
    alone = len(keys) == len({n_envs for _, n_envs in keys})
    return basis == "ratio" or (basis == "auto" and not (same and alone))


def _common(old: Session, new: Session) -> tuple[list[Key], list[str]]:
    """Return the cases both have, and a note for each that only one has."""
    sides = [[case.key for case in s.cases] for s in (old, new)]
    alone = [
        f"only {word} has {label}, {n} envs"
        for word, mine, others in (("old", *sides), ("new", *sides[::-1]))
        for label, n in mine
        if (label, n) not in others
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
    reason = _difference_of_case(old.session, new.session, key) or _unmeasured(old, new, key)
    if reason is None and not all(values):
        reason = f"no round has a clean sample of both it and {reference}"
    if reason is not None:
        return replace(cell, verdict=Verdict.NOT_COMPARABLE, reason=reason)
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
    """Return one value per clean sample: the figure, or its ratio to the reference's."""
    own = {s.round: metric.value(m) for s in _clean_samples(session, key) if (m := s.measurement)}
    if reference is None:
        return list(own.values())
    others = _clean_samples(session, (reference, key[1]))
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
    yield from _machine_notes(old, new)
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
    """Yield how the reference itself changed, which a comparison of ratios does not judge."""
    if not _on_same_machine(old, new):
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
    """Return for each disturbed side how many cores other programs used."""
    found = {w: max_foreign_cores(s.session) or 0.0 for w, s in (("old", old), ("new", new))}
    return {word: cores for word, cores in found.items() if cores > BUSY}


def _doubted(cell: Cell, busy: Mapping[str, float]) -> Cell:
    """Make a change of absolute figures inconclusive if other programs may have caused it."""
    if not busy or cell.verdict not in {Verdict.IMPROVED, Verdict.REGRESSED}:
        return cell
    reason = f"{cell.verdict}, but the machine was busy with something else"
    return replace(cell, verdict=Verdict.INCONCLUSIVE, reason=reason)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _on_same_machine(old: Side, new: Side) -> bool:
    """Return whether absolute figures of both can be compared."""
    if old.machine is None or new.machine is None:
        return False
    return same_machine(old.machine, new.machine)


def _machine_notes(old: Side, new: Side) -> list[str]:
    """Return one line that names what differs between the machines and their software."""
    if old.machine is None or new.machine is None:
        unknown = old.name if old.machine is None else new.name
        return [f"{unknown} does not say where it was measured; a run directory does"]
    parts = ["cpu", "cores", "usable_cores", "system", "python", "wfbench"]
    found = [(part, old.machine.get(part), new.machine.get(part)) for part in parts]
    versions = [side.machine.get("packages") or {} for side in (old, new) if side.machine]
    found += [
        (name, versions[0].get(name), versions[1].get(name))
        for name in dict.fromkeys((*versions[0], *versions[1]))
    ]
    differing = [f"{name} {a} / {b}" for name, a, b in found if a != b]
    return [f"old and new differ in: {'; '.join(differing)}"] if differing else []


def _require_same_work(old: Side, new: Side) -> None:
    """Raise NotComparableError that names what differs, unless both did the same work."""
    for side in (old, new):
        if side.session.settings.smoke:
            raise NotComparableError(
                f"{side.name} is a smoke run, too short to mean anything; measure without --smoke"
            )
    differing = list(_differences(old.session, new.session))
    if differing:
        raise NotComparableError(
            f"{old.name} and {new.name} did different work: {'; '.join(differing)}; "
            "measure both in the same way"
        )


def _difference_of_case(old: Session, new: Session, key: Key) -> str | None:
    """Return how a case differs between the sides; None if it does not."""
    first, second = old.cases[_index(old, key)], new.cases[_index(new, key)]
    differing = list(_option_differences("option ", first.options, second.options))
    if differing:
        return "; ".join(differing)
    if not (first.deterministic and second.deterministic):
        return None
    hashes = [
        {s.seed: m.transition_hash for s in _clean_samples(session, key) if (m := s.measurement)}
        for session in (old, new)
    ]
    for seed, found in hashes[0].items():
        if hashes[1].get(seed, found) != found:
            return "the same seeds gave other transitions: the environment has changed"
    return None


def _unmeasured(old: Side, new: Side, key: Key) -> str | None:
    """Return which side has no clean sample of a case, and why; None if both have."""
    for word, side in (("old", old), ("new", new)):
        if not _clean_samples(side.session, key):
            taken = side.session.of_case(_index(side.session, key))
            failure = next((s.failure for s in taken if s.failure), "all are marked")
            return f"no clean sample in {word}: {failure}"
    return None


def _clean_samples(session: Session, key: Key) -> list[Sample]:
    """Return the clean samples of a case by round."""
    return session.clean(_index(session, key))


def _index(session: Session, key: Key) -> int:
    return next(i for i, c in enumerate(session.cases) if c.key == key)


def _differences(old: Session, new: Session) -> Iterator[str]:
    """Yield what makes the work of two sessions different, as old / new."""
    if old.settings.steps != new.settings.steps:
        yield f"steps per collect {old.settings.steps} / {new.settings.steps}"
    envs = [sorted({case.env.name for case in s.cases}) for s in (old, new)]
    policies = [sorted({case.policy for case in s.cases}) for s in (old, new)]
    for name, sides in (("env", envs), ("policy", policies)):
        if sides[0] != sides[1]:
            yield f"{name} {', '.join(sides[0])} / {', '.join(sides[1])}"
    if envs[0] == envs[1]:
        first, second = old.cases[0].env.options, new.cases[0].env.options
        yield from _option_differences("env option ", first, second)
    counts = [sorted({case.n_envs for case in s.cases}) for s in (old, new)]
    if not set(counts[0]) & set(counts[1]):
        yield f"n_envs {', '.join(map(str, counts[0]))} / {', '.join(map(str, counts[1]))}"


def _option_differences(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if name not in old or name not in new or old[name] != new[name]:
            yield f"{what}{name} {old.get(name, 'absent')} / {new.get(name, 'absent')}"
