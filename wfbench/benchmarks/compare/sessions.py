"""Compare two bench sessions, if they did the same work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wfbench.benchmarks.compare.model import (
    Cell,
    Comparison,
    Criteria,
    differences,
    power_note,
    settle,
)
from wfbench.benchmarks.measure.model import Measurement, Session
from wfbench.benchmarks.measure.saved import load_machine, load_session
from wfbench.benchmarks.measure.summary import BUSY, max_foreign_cores
from wfbench.benchmarks.measure.turns import Figure, cpu_of, rate_of
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
Key = tuple[str, int]
"""The label of a case and its number of environments, which identify it on both sides."""
_NO_RATIO = (
    "absolute figures of different machines are not comparable, and a ratio needs two cases that "
    "both sides have; measure a reference case such as sequential as well"
)
_MACHINE = ("cpu", "cores", "usable_cores", "system", "python", "wfbench")


@dataclass(frozen=True)
class Metric:
    """A figure of a sample that can be compared."""

    unit: str
    value: Callable[[Measurement], float]
    higher_is_better: bool = False
    of_turns: Figure | None = None
    """The figure of some turns, where turns show it."""


METRICS: Mapping[str, Metric] = {
    "rate": Metric("transitions/s", lambda m: m.rate, higher_is_better=True, of_turns=rate_of),
    "cpu": Metric("CPU µs/transition", lambda m: m.cpu_us, of_turns=cpu_of),
    "memory": Metric("MB", lambda m: m.memory / 2**20),
    "start-up": Metric("s of start-up", lambda m: m.start_up),
}


@dataclass(frozen=True)
class Side:
    """A session and the machine it was measured on."""

    name: str
    session: Session
    machine: Mapping[str, Any] | None = None
    """None if unknown, as in a file that `wfbench bench --json` printed."""

    def values(self, key: Key, metric: Metric, reference: str | None = None) -> list[float]:
        """Return one value per clean sample: the figure, or its ratio to the reference's."""
        index = self.session.index(key)
        own = self.session.clean(index)
        if reference is None:
            return [metric.value(m) for m in own.values()]
        other = self.session.index((reference, key[1]))
        if metric.of_turns is not None:
            logs = self.session.log_ratios(index, other, metric.of_turns)
            return [math.exp(value) for value in logs.values()]
        base = self.session.clean(other)
        return [metric.value(m) / metric.value(base[n]) for n, m in own.items() if n in base]


_Sides = Mapping[str, Side]
"""Both sides, as `old` and `new`."""


def load_side(path: Path) -> Side:
    """Read a bench run's directory, or a file that holds what `wfbench bench --json` printed."""
    if path.is_dir():
        return Side(str(path), load_session(path), load_machine(path))
    values = read_json(path, "bench/1")
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
    criteria, sides = criteria or Criteria(), {"old": old, "new": new}
    if metric not in METRICS:
        raise UsageError(f"there is no metric {metric!r}; choose from {', '.join(METRICS)}")
    measure = METRICS[metric]
    _require_same_work(old, new)
    keys, alone = _common(sides)
    relative = _relative(basis, keys, same=_on_same_machine(old, new))
    if reference is not None and not relative:
        raise UsageError("a reference is given, but figures are compared as they are")
    references = _references(keys, reference) if relative else {}
    cells = [
        _cell(sides, key, measure, references.get(key[1]))
        for key in keys
        if references.get(key[1]) != key[0]
    ]
    if not cells:
        raise NotComparableError(
            _NO_RATIO if relative else f"no case was measured on both sides: {'; '.join(alone)}"
        )
    busy = _busy(sides)
    settled = settle(cells, criteria)
    if busy and not relative:
        settled = tuple(map(_doubted, settled))
    return Comparison(
        kind="bench",
        old=(old.name,),
        new=(new.name,),
        basis=_basis_line(measure, references),
        cells=settled,
        criteria=criteria,
        notes=(
            *_machine_notes(old, new),
            *alone,
            *_sample_notes(sides, busy),
            *power_note(settled, criteria),
            *_reference_notes(old, new, references, measure),
        ),
    )


def _relative(basis: Basis, keys: Sequence[Key], *, same: bool) -> bool:
    """Return whether to compare ratios to a reference, which cancel what slowed a whole session."""
    if basis == "rate" and not same:
        raise NotComparableError(
            "absolute figures of different machines are not comparable; compare ratios to a "
            "reference case (--basis ratio)"
        )
    alone = len(keys) == len({n_envs for _, n_envs in keys})
    return basis == "ratio" or (basis == "auto" and not (same and alone))


def _common(sides: _Sides) -> tuple[list[Key], list[str]]:
    """Return the cases both have by number of environments, and a note for each only one has."""
    keys = {word: [case.key for case in side.session.cases] for word, side in sides.items()}
    common = [key for key in keys["old"] if key in keys["new"]]
    alone = [
        f"only {word} has {label}, {n} envs"
        for word, mine in keys.items()
        for label, n in mine
        if (label, n) not in common
    ]
    counts = list(dict.fromkeys(n_envs for _, n_envs in common))
    return sorted(common, key=lambda key: counts.index(key[1])), alone


def _references(keys: Sequence[Key], wanted: str | None) -> dict[int, str]:
    """Return the label that ratios are to, for each number of environments."""
    found = {}
    for n_envs in dict.fromkeys(count for _, count in keys):
        labels = [label for label, count in keys if count == n_envs]
        if wanted is not None and wanted not in labels:
            raise NotComparableError(
                f"the reference {wanted!r} was not measured with {n_envs} envs on both sides; "
                f"{', '.join(labels)} were"
            )
        found[n_envs] = wanted or labels[0]
    return found


def _cell(sides: _Sides, key: Key, metric: Metric, reference: str | None) -> Cell:
    old, new = (side.values(key, metric, reference) for side in sides.values())
    cell = Cell(
        name=f"{key[0]}, {key[1]} envs",
        metric=metric.unit if reference is None else f"x {reference}",
        scale="ratio",
        samples=(len(old), len(new)),
        higher_is_better=metric.higher_is_better,
    )
    obstacles = list(_obstacles(sides, key))
    if not (old and new):
        obstacles.append(f"no round has a clean sample of both it and {reference}")
    if obstacles:
        return replace(cell, verdict=Verdict.NOT_COMPARABLE, reason=obstacles[0])
    far = len(outliers(old)) + len(outliers(new))
    old_logs, new_logs = ([math.log(value) for value in values] for values in (old, new))
    return replace(
        cell,
        old=rate_estimate(old),
        new=rate_estimate(new),
        effect=unpaired_ratio_estimate(new_logs, old_logs),
        test=unpaired_permutation_test(new_logs, old_logs),
        equal=old == new,
        reason=f"{far} far from the others, kept" if far else "",
    )


def _basis_line(metric: Metric, references: Mapping[int, str]) -> str:
    if not references:
        return f"{metric.unit}, new / old, same machine"
    names = ", ".join(dict.fromkeys(references.values()))
    return f"{metric.unit} as a multiple of {names} in the same round, new / old"


def _sample_notes(sides: _Sides, busy: Mapping[str, float]) -> Iterator[str]:
    if len({side.session.settings.seed for side in sides.values()}) > 1:
        yield "the seeds differ, so that equal work cannot be proved"
    for word, cores in busy.items():
        yield f"other programs used up to {cores:.1f} cores while {word} was measured"
    for word, side in sides.items():
        lost = sum(not sample.clean for sample in side.session.samples)
        if lost:
            yield f"{lost} samples of {word} failed or are marked, and are left out"


def _reference_notes(
    old: Side, new: Side, references: Mapping[int, str], metric: Metric
) -> Iterator[str]:
    """Yield how the reference itself changed, which a comparison of ratios does not judge."""
    if not _on_same_machine(old, new):
        return
    for n_envs, label in references.items():
        values = [side.values((label, n_envs), metric) for side in (old, new)]
        if all(values):
            centres = [rate_estimate(one).value for one in values]
            then, now = (f"{c:,.0f}" if c >= 1000 else f"{c:.4g}" for c in centres)
            yield (
                f"the reference itself, {label}, {n_envs} envs: {then} -> {now} "
                f"{metric.unit}, which is not judged (--basis rate does)"
            )


def _busy(sides: _Sides) -> dict[str, float]:
    """Return for each disturbed side how many cores other programs used."""
    found = {word: max_foreign_cores(side.session) or 0.0 for word, side in sides.items()}
    return {word: cores for word, cores in found.items() if cores > BUSY}


def _doubted(cell: Cell) -> Cell:
    """Make a change of absolute figures inconclusive, as other programs may have caused it."""
    if cell.verdict not in {Verdict.IMPROVED, Verdict.REGRESSED}:
        return cell
    reason = f"{cell.verdict}, but the machine was busy with something else"
    return replace(cell, verdict=Verdict.INCONCLUSIVE, reason=reason)


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
    first, second = (
        {name: machine.get(name) for name in _MACHINE} | (machine.get("packages") or {})
        for machine in (old.machine, new.machine)
    )
    differing = list(differences("", first, second, missing=None))
    return [f"old and new differ in: {'; '.join(differing)}"] if differing else []


def _require_same_work(old: Side, new: Side) -> None:
    """Raise NotComparableError that names what differs, unless both did the same work."""
    for side in (old, new):
        if side.session.settings.smoke:
            raise NotComparableError(
                f"{side.name} is a smoke run, too short to mean anything; measure without --smoke"
            )
    differing = list(_work_differences(old.session, new.session))
    if differing:
        raise NotComparableError(
            f"{old.name} and {new.name} did different work: {'; '.join(differing)}; "
            "measure both in the same way"
        )


def _obstacles(sides: _Sides, key: Key) -> Iterator[str]:
    """Yield why a case cannot be compared: it differs, or a side has no clean sample of it."""
    places = {word: side.session.index(key) for word, side in sides.items()}
    first, second = (side.session.cases[places[word]] for word, side in sides.items())
    taken = {word: side.session.of_case(places[word]) for word, side in sides.items()}
    differing = list(differences("option ", first.options, second.options))
    if differing:
        yield "; ".join(differing)
    if first.deterministic and second.deterministic:
        then, now = (
            {s.seed: m.transition_hash for s in samples if s.clean and (m := s.measurement)}
            for samples in taken.values()
        )
        if any(then[seed] != now[seed] for seed in then.keys() & now.keys()):
            yield "the same seeds gave other transitions: the environment has changed"
    for word, samples in taken.items():
        if not any(sample.clean for sample in samples):
            failure = next((s.failure for s in samples if s.failure), "all are marked")
            yield f"no clean sample in {word}: {failure}"


def _work_differences(old: Session, new: Session) -> Iterator[str]:
    """Yield what makes the work of two sessions different, as old / new."""
    if old.settings.steps != new.settings.steps:
        yield f"steps per collect {old.settings.steps} / {new.settings.steps}"
    envs = [sorted({case.env.name for case in session.cases}) for session in (old, new)]
    policies = [sorted({case.policy for case in session.cases}) for session in (old, new)]
    counts = [sorted({case.n_envs for case in session.cases}) for session in (old, new)]
    for name, sides in (("env", envs), ("policy", policies)):
        if sides[0] != sides[1]:
            yield f"{name} {', '.join(sides[0])} / {', '.join(sides[1])}"
    if envs[0] == envs[1]:
        yield from differences("env option ", old.cases[0].env.options, new.cases[0].env.options)
    if not set(counts[0]) & set(counts[1]):
        yield f"n_envs {', '.join(map(str, counts[0]))} / {', '.join(map(str, counts[1]))}"
