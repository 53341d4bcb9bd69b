"""The conformance kit for collectors: one class for pytest, one function without it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any, ClassVar

from wfbench.contract import CollectorSpec, UsageError

from .collector_promises import COLLECTOR
from .harness.checker import SubjectProcess
from .harness.subject import SubjectRef
from .promise import Progress, PromiseResult, tell


def check_collector(
    collector: CollectorSpec | str | type,
    options: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
    only: Collection[str] = (),
    limit: float | None = None,
) -> list[PromiseResult]:
    """Test whether a collector keeps every promise, or those whose slug is in `only`.

    Give its descriptor, the name under which it is installed, or a class of your script. Each check
    runs in another process under a deadline of its own, `limit` seconds at most: a collector that
    misses it hangs. A promise that does not apply, because the collector does not declare a
    capability or an option, has `kept=None`. One that the collector declares in `cannot` is tested
    all the same, and its result has an `excuse`.
    """
    unknown = set(only) - set(COLLECTOR.by_slug)
    if unknown:
        raise UsageError(f"there is no promise {min(unknown)!r}")
    wanted = [promise for slug, promise in COLLECTOR.by_slug.items() if not only or slug in only]
    with closing(SubjectProcess(SubjectRef.of(collector, options or {}))) as process:
        return tell(progress, (process.test(promise, limit) for promise in wanted))


class CollectorConformance:
    """The whole kit as one pytest class.

    Subclass it in a test module and name the collector::

        class TestFastpath(CollectorConformance):
            collector = "fastpath"

    Each promise becomes one test. A promise that does not apply to the collector is skipped; one
    that the collector declares in `cannot` is expected to fail.
    """

    collector: ClassVar[str | type | CollectorSpec]
    """The name under which it is installed, its descriptor, or its class."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Options to build it with."""
    patience: ClassVar[float | None] = None
    """Seconds to wait for a promise that the collector declares in `cannot`; None: as many as for
    any other."""

    _checker: ClassVar[SubjectProcess]

    @classmethod
    def setup_class(cls) -> None:
        """Start the testing process."""
        cls._checker = SubjectProcess(SubjectRef.of(cls.collector, cls.options))
        cls._checker.start()

    @classmethod
    def teardown_class(cls) -> None:
        """End the testing process."""
        cls._checker.close()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make one test per promise."""
        if "promise_slug" in metafunc.fixturenames:
            metafunc.parametrize("promise_slug", list(COLLECTOR.by_slug))

    def test_promise(self, promise_slug: str) -> None:
        """Fail unless the collector keeps the promise, or truly cannot as it declares."""
        import pytest

        limit = self.patience if promise_slug in self._checker.cannot else None
        result = self._checker.test(COLLECTOR.by_slug[promise_slug], limit)
        if result.kept is None:
            pytest.skip(result.detail)
        if result.broken:
            pytest.fail(f"broken promise: {result.name}\n{result.detail}", pytrace=False)
        if result.stale:
            pytest.fail(f"kept, but declared in `cannot`: {result.name}", pytrace=False)
        if result.excuse:
            pytest.xfail(f"{result.excuse}: {result.detail}")
