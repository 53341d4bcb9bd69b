"""Which cases two revisions are compared in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from wfbench.benchmarks.revisions.building import Build
from wfbench.benchmarks.revisions.model import Request
from wfbench.benchmarks.revisions.pairs import LiveSide, Place
from wfbench.contract import CollectError, NotComparableError, UsageError


def own_requests(build: Build, place: Place, like: Request) -> list[Request]:
    """Return a case for each collector that the project offers; `like` has all but its name."""
    with closing(LiveSide(place)) as side:
        try:
            found = side.labels(replace(like, collector="all"), build.distribution)
        except CollectError as error:
            raise UsageError(f"{build.revision}: {error}") from error
    if not found:
        raise UsageError(
            f"{build.distribution} offers no collector for {like.env}; name one with --collector"
        )
    return [replace(like, collector=label) for label in found]


def named_requests(build: Build, place: Place, given: Sequence[Request]) -> list[Request]:
    """Return the cases that were asked for as the working tree calls them."""
    found = (
        replace(one, collector=label)
        for one in given
        for label in _labels(place, one, UsageError, build.revision)
    )
    return list(dict.fromkeys(found))


def in_both(
    requests: Sequence[Request], old: Build, place: Place, *, strict: bool
) -> tuple[list[Request], list[str]]:
    """Return the cases that the old revision has, too, and a note for each that it has not.

    Raises NotComparableError if none is left, or, with `strict`, at the first.
    """
    kept, notes = [], []
    for one in requests:
        try:
            require(one, old, place)
            kept.append(one)
        except NotComparableError as error:
            if strict:
                raise
            notes.append(f"{one.label} is not judged: {error}")
    if not kept:
        raise NotComparableError(f"nothing can be compared: {notes[0]}")
    return kept, notes


def require(request: Request, old: Build, place: Place) -> None:
    """Raise NotComparableError unless the old revision has the case, too."""
    _labels(place, request, NotComparableError, old.revision)


def _labels(
    place: Place, request: Request, kind: type[UsageError | NotComparableError], revision: str
) -> list[str]:
    with closing(LiveSide(place)) as side:
        try:
            return side.labels(request)
        except CollectError as error:
            raise kind(f"{revision}: {str(error).removeprefix('UsageError: ')}") from error
