"""What the kit for searchers asks of them, and what it says of those that break a promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from wfbench.contract import Order, Outcome, SearcherSetup, SearcherSpec
from wfbench.testing import searcher_kit


class Searcher:
    """A searcher that keeps every promise; it notes what it is asked and told."""

    log: ClassVar[list[str]] = []
    built: ClassVar[int] = 0

    def __init__(self, setup: SearcherSetup) -> None:
        self.setup, self.told = setup, 0
        type(self).built += 1
        self.number = type(self).built
        self.log.append(f"build {setup.num_units} {setup.seed}")

    def ask(self) -> Order:
        rng = np.random.default_rng([self.setup.seed, self.told])
        self.log.append("ask")
        return tuple(int(unit) for unit in rng.permutation(self.setup.num_units))

    def ask_batch(self, n: int) -> list[Order]:
        self.log.append(f"ask for {n}")
        first = self.ask()
        return [first, first[::-1], first][:n]

    def tell(self, order: Order, outcome: Outcome) -> None:
        score = f"{outcome.score:.3f}"
        rest = (outcome.compliance, outcome.compliant, outcome.env_steps, outcome.seed)
        self.log.append(f"tell {order} {score} {rest}")
        self.told += 1

    def state(self) -> Mapping[str, Any]:
        return {"told": self.told}

    def load(self, state: Mapping[str, Any]) -> None:
        self.log.append(f"load {dict(state)}")
        self.told = state["told"]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, str]]:
    """Put a searcher to one promise."""

    def put(slug: str, searcher: type = Searcher) -> tuple[Any, str]:
        Searcher.built = 0
        monkeypatch.setattr(searcher_kit, "load_object", lambda _: searcher)
        spec = SearcherSpec(name="x", summary="x", factory="a:b")
        subject = searcher_kit._Subject(spec, {})
        promise = searcher_kit._PROMISES.by_slug[slug]
        found = promise.test(subject, frozenset({"batches"}))
        return found.kept, found.detail

    return put


def test_what_each_promise_asks_of_a_searcher(ask: Any, golden: Callable[[str, str], None]) -> None:
    lines = []
    for slug, promise in searcher_kit._PROMISES.by_slug.items():
        Searcher.log.clear()
        kept, detail = ask(slug)
        lines += [f"{slug}: {promise.name}", *(f"  {line}" for line in Searcher.log)]
        lines += [f"  -> {kept} {detail}"]
    golden("searcher-kit.txt", "\n".join(lines))


def asking(change: Callable[[Any, Any], Any]) -> type[Searcher]:
    return type("Broken", (Searcher,), {"ask": lambda self: change(self, Searcher.ask(self))})


def batching(change: Callable[[Any, int], Any]) -> type[Searcher]:
    return type("Broken", (Searcher,), {"ask_batch": change})


@pytest.mark.parametrize(
    ("slug", "searcher", "detail"),
    [
        ("permutations", asking(lambda _, o: list(o)), "ask() returned ["),
        ("permutations", asking(lambda _, o: (0,) * len(o)), "(0, 0) is no order of 2 units"),
        (
            "permutations",
            asking(lambda _, o: o if len(o) == 2 else (0,) * 5),
            "(0, 0, 0, 0, 0) is no order of 5 units",
        ),
        ("permutations", asking(lambda _, o: tuple(map(float, o))), "("),
        ("permutations", asking(lambda _, o: (*o[:-1], np.int64(o[-1]))), "("),
        (
            "permutations",
            asking(lambda s, o: o if s.told < 1 or len(o) == 5 else (1, 1)),
            "(1, 1) is no order of 2 units",
        ),
        (
            "permutations",
            asking(lambda s, o: o if s.told < 7 or len(o) == 2 else (1,) * 5),
            "(1, 1, 1, 1, 1) is no order of 5 units",
        ),
        (
            "determinism",
            asking(lambda s, o: o if s.number == 1 or s.told < 7 else o[::-1]),
            "orders [",
        ),
        (
            "resuming",
            asking(lambda s, o: o if s.number < 3 or s.told < 7 else o[::-1]),
            "after load() it asked [",
        ),
        ("failures", asking(lambda s, o: o if s.told < 3 else (1,) * 5), "after failures it asked"),
        (
            "batches",
            batching(lambda s, n: [s.ask()] if n > 1 else [s.ask()[::-1]]),
            "ask_batch(1) is not [ask()]",
        ),
        ("batches", batching(lambda s, n: [s.ask()] if n == 1 else []), "ask_batch(3) gave 0 "),
        (
            "batches",
            batching(lambda s, n: [s.ask()] * (1 if n == 1 else 4)),
            "ask_batch(3) gave 4 orders",
        ),
        (
            "batches",
            batching(lambda s, n: [s.ask()] if n == 1 or s.told < 3 else [(1,) * 5]),
            "(1, 1, 1, 1, 1) is no order",
        ),
        (
            "batches",
            batching(lambda s, n: [s.ask()] if n == 1 or s.number < 4 else [s.ask()[::-1]]),
            "orders [[",
        ),
    ],
)
def test_a_broken_promise_is_told(slug: str, searcher: type, detail: str, ask: Any) -> None:
    kept, found = ask(slug, searcher)
    assert (kept, found[: len(detail)]) == (False, detail)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_batch_may_be_smaller_than_asked(size: int, ask: Any) -> None:
    few = batching(lambda s, n: [s.ask()] * (1 if n == 1 else size))
    assert ask("batches", few) == (True, "")


@pytest.mark.parametrize("slug", ["resuming", "failures"])
def test_a_state_is_json(slug: str, ask: Any) -> None:
    odd = type("Odd", (Searcher,), {"state": lambda self: {"told": self.told, "x": np.nan}})
    kept, found = ask(slug, odd)
    assert (kept, found.split(":")[0]) == (False, "raised ValueError")
