"""The conformance kit for collectors: one class for pytest, one function without it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from wfbench.contract import CollectorSpec, UsageError

from .judging import Case, Judge
from .promise import Progress, Promise
from .promises import COLLECTOR


def check_collector(
    spec: CollectorSpec | str,
    options: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
    only: Collection[str] = (),
    limit: float | None = None,
) -> list[Promise]:
    """Put every promise of the contract to the test, or those whose slug is in `only`.

    Each check runs in another process under a deadline of its own, `limit` seconds at most: a
    collector that misses it hangs. A promise that does not apply, because the
    collector does not declare a capability or an option, is listed with `kept=None`. One that it
    declares that it cannot keep is put to the test all the same, and has an `excuse`.
    """
    unknown = set(only) - set(COLLECTOR.checks)
    if unknown:
        raise UsageError(f"there is no promise {min(unknown)!r}")
    judge = Judge(Case(spec, dict(options or {})))
    promises = []
    try:
        for check in COLLECTOR.checks.values():
            if not only or check.slug in only:
                promises.append(judge.judge(check, limit))
                if progress is not None:
                    progress(promises[-1])
    finally:
        judge.close()
    return promises


class CollectorConformance:
    """The whole kit as one pytest class.

    Subclass it in a test module and name the collector::

        class TestFastpath(CollectorConformance):
            collector = "fastpath"

    Each promise becomes one test; a promise that does not apply to the collector is skipped, one
    that it declares that it cannot keep is expected to fail.
    """

    collector: ClassVar[str | CollectorSpec]
    """The name under which it is installed, or its descriptor."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Options to build it with."""
    patience: ClassVar[float | None] = None
    """Seconds that are waited for a promise that is declared as one it cannot keep; None: as many
    as for any other."""

    _judge: ClassVar[Judge]

    @classmethod
    def setup_class(cls) -> None:
        """Start the judging process."""
        cls._judge = Judge(Case(cls.collector, dict(cls.options)))
        cls._judge.start()

    @classmethod
    def teardown_class(cls) -> None:
        """End the judging process."""
        cls._judge.close()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """One test per promise."""
        if "promise_slug" in metafunc.fixturenames:
            metafunc.parametrize("promise_slug", list(COLLECTOR.checks))

    def test_promise(self, promise_slug: str) -> None:
        """The collector keeps the promise, or declares truly that it cannot."""
        import pytest

        limit = self.patience if self._judge.excuse(promise_slug) else None
        promise = self._judge.judge(COLLECTOR.checks[promise_slug], limit)
        if promise.kept is None:
            pytest.skip(promise.detail)
        if promise.broken:
            pytest.fail(f"broken promise: {promise.name}\n{promise.detail}", pytrace=False)
        if promise.stale:
            pytest.fail(f"kept, but declared in `cannot`: {promise.name}", pytrace=False)
        if promise.excuse:
            pytest.xfail(f"{promise.excuse}: {promise.detail}")
