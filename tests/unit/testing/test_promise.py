"""What becomes of a promise: kept, broken, not applicable, excused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import wfbench.testing as kits
from wfbench.contract import CollectorSpec, UsageError, option
from wfbench.testing.promise import (
    BrokenPromiseError,
    DoesNotApply,
    PromiseResult,
    Promises,
    expect,
    expect_equal,
)


@pytest.mark.parametrize(
    ("kept", "excuse", "broken", "stale"),
    [
        (True, "", False, False),
        (True, "slow", False, True),
        (False, "", True, False),
        (False, "slow", False, False),
        (None, "", False, False),
        (None, "slow", False, False),
    ],
)
def test_broken_is_without_and_stale_with_an_excuse(
    kept: bool | None,  # noqa: FBT001 (a table)
    excuse: str,
    broken: object,
    stale: object,
) -> None:
    result = PromiseResult("P", kept, excuse=excuse)
    assert (result.broken, result.stale) == (broken, stale)


def test_what_is_expected() -> None:
    expect(1, "no")
    expect_equal("it", 2, 2)
    with pytest.raises(BrokenPromiseError, match=r"^no$"):
        expect([], "no")
    with pytest.raises(BrokenPromiseError, match=r"^it is 2, not 3$"):
        expect_equal("it", 2, 3)


PROMISES: Promises[Any] = Promises()


@PROMISES.add("It does what it is told")
def _does_it(subject: Any) -> None:
    subject()


@PROMISES.add("It can do both", needs=("b", "a"), limit=7.0)
def _does_both(subject: Any) -> None:
    subject()


def failing(error: BaseException) -> Any:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("subject", "kept", "detail"),
    [
        (lambda: None, True, ""),
        (failing(DoesNotApply("it has none")), None, "it has none"),
        (failing(BrokenPromiseError("it did not")), False, "it did not"),
        (failing(ValueError("two\n lines")), False, "raised ValueError: two lines ("),
        (failing(SystemExit(3)), False, "raised SystemExit: 3 ("),
    ],
)
def test_what_became_of_it(subject: Any, kept: object, detail: str) -> None:
    promise = PROMISES.by_slug["does-it"]
    found = promise.test(subject, frozenset())
    assert (found.name, found.kept, found.slug) == ("It does what it is told", kept, "does-it")
    assert found.detail.startswith(detail)
    if "raised" in detail:
        line = failing(ValueError()).__code__.co_firstlineno + 1
        assert found.detail.endswith(f"({__file__}, line {line})")


def test_ctrl_c_is_not_a_broken_promise() -> None:
    with pytest.raises(KeyboardInterrupt):
        PROMISES.by_slug["does-it"].test(failing(KeyboardInterrupt()), frozenset())


@pytest.mark.parametrize(
    ("capabilities", "kept", "detail"),
    [
        ("", None, "it does not declare a, b"),
        ("a", None, "it does not declare b"),
        ("abc", True, ""),
    ],
)
def test_what_is_not_declared_is_not_tested(capabilities: str, kept: object, detail: str) -> None:
    promise = PROMISES.by_slug["does-both"]
    assert (promise.limit, PROMISES.by_slug["does-it"].limit) == (7.0, 60.0)
    found = promise.test(lambda: None, frozenset(capabilities))
    assert (found.kept, found.detail) == (kept, detail)


@dataclass(frozen=True)
class Options:
    size: int = option(3, "how large")


@pytest.mark.parametrize(("given", "size"), [(None, 3), ({}, 3), ({"size": 5}, 5)])
def test_a_subject_is_made_with_its_options_and_put_to_every_promise(given: Any, size: int) -> None:
    made: list[Any] = []
    told: list[PromiseResult] = []

    def make(spec: Any, options: Any) -> Any:
        made.append((spec.name, dict(options)))
        return lambda: None

    spec = CollectorSpec(name="x", summary="x", factory="a:b", options=Options)
    found = PROMISES.test(make, spec, given, told.append)
    assert made == [("x", {"size": size})]
    assert [one.kept for one in found] == [True, None]
    assert told == found
    assert PROMISES.test(make, spec, given, None) == found
    with pytest.raises(UsageError):
        PROMISES.test(make, spec, {"sise": 5}, None)


@pytest.mark.parametrize("name", kits.__all__)
def test_every_kit_is_there_by_its_name(name: str) -> None:
    assert getattr(kits, name).__name__ == name if name != "Progress" else kits.Progress


def test_nothing_else_is_in_the_kits() -> None:
    with pytest.raises(AttributeError, match=r"'wfbench.testing' has no attribute 'check_all'"):
        kits.check_all  # noqa: B018 (what is tested)
