"""A list of promises whose checks run in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .promise import Progress, Promise
from .verdict import BrokenPromiseError, DoesNotApply


def go_through(
    checks: Iterable[tuple[str, Callable[[], None]]], progress: Progress | None
) -> list[Promise]:
    """Run every check. One that raises has found a broken promise, whatever it raised."""
    promises = []
    for name, check in checks:
        promises.append(_judged(name, check))
        if progress is not None:
            progress(promises[-1])
    return promises


def _judged(name: str, check: Callable[[], None]) -> Promise:
    try:
        check()
    except DoesNotApply as reason:
        return Promise(name, None, str(reason))
    except BrokenPromiseError as broken:
        return Promise(name, kept=False, detail=str(broken))
    except Exception as error:  # noqa: BLE001 - the subject may raise anything
        text = " ".join(str(error).split())
        return Promise(name, kept=False, detail=f"raised {type(error).__name__}: {text}")
    return Promise(name, kept=True)
