"""Promises of the contract, how a check breaks one, and what came of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from wfbench.contract import FactorySpec
from wfbench.host.options import resolve_options

LIMIT = 60.0
"""Seconds a check may take before its subject counts as hung."""

S = TypeVar("S")


class BrokenPromiseError(Exception):
    """The subject broke the promise; the message says what was seen."""


class DoesNotApply(Exception):  # noqa: N818 (not an error)
    """The promise says nothing about this subject; the message says why."""


def expect(condition: object, detail: str) -> None:
    """Raise BrokenPromiseError with `detail` unless the condition holds."""
    if not condition:
        raise BrokenPromiseError(detail)


def expect_equal(what: str, found: object, wanted: object) -> None:
    """Raise BrokenPromiseError unless what was found is what was wanted."""
    expect(found == wanted, f"{what} is {found}, not {wanted}")


@dataclass(frozen=True)
class PromiseResult:
    """What came of one promise: whether a plugin keeps it."""

    name: str
    """The promise in words: "a second close is a no-op"."""
    kept: bool | None
    """None: it does not apply to this plugin."""
    detail: str = ""
    """What was seen where it was broken, or why it does not apply."""
    slug: str = ""
    """What a descriptor's `cannot` calls it."""
    excuse: str = ""
    """Why the plugin declares that it cannot keep it; empty: it does not declare that."""

    @property
    def broken(self) -> bool:
        """Whether it should have been kept and was not."""
        return self.kept is False and not self.excuse

    @property
    def stale(self) -> bool:
        """Whether it is kept although the plugin declares that it cannot be."""
        return self.kept is True and bool(self.excuse)


Progress = Callable[[PromiseResult], None]
"""Called with each result as soon as it is known."""


def tell(progress: Progress | None, results: Iterable[PromiseResult]) -> list[PromiseResult]:
    """Return the results, each told as soon as it is known."""
    told = []
    for result in results:
        told.append(result)
        if progress is not None:
            progress(result)
    return told


@dataclass(frozen=True)
class Promise(Generic[S]):
    """Something a plugin must keep, and the function that tries to break it."""

    slug: str
    name: str
    """The promise in words."""
    check: Callable[[S], None]
    needs: frozenset[str] = frozenset()
    """The capabilities a subject must declare for the promise to apply."""
    limit: float = LIMIT
    fresh: bool = False
    """Whether it needs a process in which the subject has done nothing yet."""

    def test(self, subject: S, capabilities: frozenset[str]) -> PromiseResult:
        """Try to break the promise, in this process."""
        missing = ", ".join(sorted(self.needs - capabilities))
        if missing:
            return self.result(None, f"it does not declare {missing}")
        try:
            self.check(subject)
        except DoesNotApply as reason:
            return self.result(None, str(reason))
        except BrokenPromiseError as broken:
            return self.result(False, str(broken))  # noqa: FBT003 (what became of it)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the subject may raise anything
            [*_, last] = traceback.extract_tb(error.__traceback__)
            text = " ".join(str(error).split())
            detail = f"raised {type(error).__name__}: {text} ({last.filename}, line {last.lineno})"
            return self.result(False, detail)  # noqa: FBT003 (as above)
        return self.result(True)  # noqa: FBT003 (as above)

    def result(self, kept: bool | None, detail: str = "") -> PromiseResult:  # noqa: FBT001
        """Return what came of this promise."""
        return PromiseResult(self.name, kept, detail, self.slug)


@dataclass(frozen=True)
class Promises(Generic[S]):
    """The promises of one kind of plugin, in the order they are written down."""

    by_slug: dict[str, Promise[S]] = field(default_factory=dict)

    def add(
        self, name: str, *, needs: tuple[str, ...] = (), limit: float = LIMIT, fresh: bool = False
    ) -> Callable[[Callable[[S], None]], Callable[[S], None]]:
        """Add the decorated function as the check of the promise `name`."""

        def enter(check: Callable[[S], None]) -> Callable[[S], None]:
            slug = check.__name__.strip("_").replace("_", "-")
            self.by_slug[slug] = Promise(slug, name, check, frozenset(needs), limit, fresh)
            return check

        return enter

    def test(
        self,
        make: Callable[[Any, Mapping[str, Any]], S],
        spec: FactorySpec,
        options: Mapping[str, Any] | None,
        progress: Progress | None,
    ) -> list[PromiseResult]:
        """Put the subject that `make` returns to every promise, one after the other."""
        subject = make(spec, resolve_options(spec, options or {}))
        return tell(progress, (p.test(subject, spec.capabilities) for p in self.by_slug.values()))
