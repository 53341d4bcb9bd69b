"""Whether two sessions did the same work, and what differs if they did not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wfbench.contract import NotComparableError

from .comparison_sides import Side
from .model import Case, Sample, Session

Key = tuple[str, int]
"""The label of a case and its number of environments: what makes it the same on both sides."""


def refuse_different_work(old: Side, new: Side) -> None:
    """NotComparableError that names what differs, unless both did the same work."""
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


def difference_of_case(old: Session, new: Session, key: Key) -> str | None:
    """In what a case of the same name is not the same; None: it is."""
    first, second = old.cases[_index(old, key)], new.cases[_index(new, key)]
    differing = list(_option_differences("option ", first.options, second.options))
    if differing:
        return "; ".join(differing)
    if not (first.deterministic and second.deterministic):
        return None
    hashes = [
        {s.seed: m.transition_hash for s in clean_samples(session, key) if (m := s.measurement)}
        for session in (old, new)
    ]
    for seed, found in hashes[0].items():
        if hashes[1].get(seed, found) != found:
            return "the same seeds gave other transitions: the environment has changed"
    return None


def unmeasured(old: Side, new: Side, key: Key) -> str | None:
    """On which side a case has no sound sample, and why; None: both have some."""
    for word, side in (("old", old), ("new", new)):
        if not clean_samples(side.session, key):
            failures = [
                s.failure for s in side.session.of_case(_index(side.session, key)) if s.failure
            ]
            return f"no sound sample in {word}: {failures[0] if failures else 'all are marked'}"
    return None


def clean_samples(session: Session, key: Key) -> list[Sample]:
    """The sound samples of a case by round."""
    return [sample for sample in session.of_case(_index(session, key)) if sample.clean]


def _index(session: Session, key: Key) -> int:
    return next(i for i, c in enumerate(session.cases) if (c.label, c.n_envs) == key)


def _differences(old: Session, new: Session) -> Iterator[str]:
    """What makes the work of two sessions different, old / new."""
    if old.settings.steps != new.settings.steps:
        yield f"steps per collect {old.settings.steps} / {new.settings.steps}"
    pairs: list[tuple[str, Callable[[Case], Any]]] = [
        ("env", lambda case: case.env.name),
        ("policy", lambda case: case.policy),
    ]
    for name, value in pairs:
        sides = [sorted({str(value(case)) for case in s.cases}) for s in (old, new)]
        if sides[0] != sides[1]:
            yield f"{name} {', '.join(sides[0])} / {', '.join(sides[1])}"
    if {case.env.name for case in old.cases} == {case.env.name for case in new.cases}:
        first, second = old.cases[0].env.options, new.cases[0].env.options
        yield from _option_differences("env option ", first, second)
    counts = [sorted({case.n_envs for case in s.cases}) for s in (old, new)]
    if not set(counts[0]) & set(counts[1]):
        yield f"n_envs {', '.join(map(str, counts[0]))} / {', '.join(map(str, counts[1]))}"


def _option_differences(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if name not in old or name not in new or old[name] != new[name]:
            yield f"{what}{name} {old.get(name, 'absent')} / {new.get(name, 'absent')}"
