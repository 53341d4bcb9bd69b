"""How a search is configured and watched, landscapes, claims, and orders as objects."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import wfbench
from wfbench.api import claims, order_results, searching
from wfbench.api.order_results import OrderResult
from wfbench.api.results import Progress
from wfbench.api.runs import _number
from wfbench.benchmarks.reproduce.model import ClaimResult, Reproduction
from wfbench.contract import UsageError
from wfbench.contract.claims import Finding


def test_settings_come_from_the_file_and_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WFBENCH_RUN_SEED", raising=False)
    Path("mine.toml").write_text("n_envs = 7\nseed = 3\n")
    found = searching.resolve_settings(
        {"seed": 4, "collector": "shm"}, None, "mine.toml", {"shm": {"workers": 2}}
    )
    config = found.config
    assert (config.n_envs, config.seed, config.collector) == (7, 4, ("shm",))
    assert searching.explain_config(found).chosen == {}
    [chosen] = searching.explain_config(found, check=True).chosen["collector"]
    assert chosen.options["workers"] == 2
    smoke = searching.resolve_settings({}, None, None, None, smoke=True).config
    plain = searching.resolve_settings({}, None, None, None).config
    assert smoke.joint_episodes < plain.joint_episodes
    assert searching.resolve_settings({}, "per-order", None, None).config.training == "per-order"
    with pytest.raises(UsageError, match="--smoke is a preset of its own"):
        searching.resolve_settings({}, "per-order", None, None, smoke=True)
    with pytest.raises(UsageError, match="there is no setting 'n_env'"):
        searching.resolve_settings({"n_env": 3}, None, None, None)


def test_a_search_is_watched_by_counting_its_workflows() -> None:
    told: list[Progress] = []
    watch = searching._Watch(told.append)
    store: Any = SimpleNamespace(id="r", path=Path("r"))
    job: Any = SimpleNamespace(workflows=3)
    observe, _ = watch.observers(job, store)
    for kind in ("x", "workflow-finished", "x"):
        observe({"event": kind})  # type: ignore[operator]
    assert [(one.done, one.total) for one in told] == [(0, 3), (1, 3), (1, 3)]
    assert [one.text for one in told] == ["r: x", "r: workflow-finished", "r: x"]
    assert told[0].value == {"event": "x", "run": "r"}


@pytest.mark.parametrize(
    ("error", "said", "notes"),
    [
        (KeyboardInterrupt(), "KeyboardInterrupt", ["resume with: wfbench run --resume r"]),
        (ValueError("bad"), "bad", ["resume with: wfbench run --resume r"]),
        (UsageError("wrong"), "wrong", []),
    ],
)
def test_whoever_observes_is_told_why_a_search_stopped(
    error: BaseException, said: str, notes: list[str]
) -> None:
    watch = searching._Watch(None)
    stopped: list[str] = []
    hooks: Any = SimpleNamespace(stopped=stopped.append)
    watch._hooks.append(hooks)
    with pytest.raises(type(error)) as caught, watch.resumable(Path("r")):
        raise error
    assert stopped == [said]
    assert getattr(caught.value, "__notes__", []) == notes


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, "give either --landscape FILE or --synthetic"),
        ({"landscape": "x", "synthetic": "pairs"}, "give either --landscape FILE"),
        ({"landscape": "x", "icc": 0.3}, "--icc belongs to --synthetic"),
        ({"synthetic": "pairs", "value": "return"}, "--value belongs to --landscape"),
        ({"synthetic": "pairs", "seeds": 1}, "--seeds is 1; it must be at least 2"),
        ({"synthetic": "pairs", "asks": 0}, "--asks is 0; it must be at least 1"),
        ({"synthetic": "pairs", "batch": 0}, "--batch is 0; it must be at least 1"),
    ],
)
def test_what_searchers_cannot_be_compared_on_is_refused(asked: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        wfbench.bench_search(**asked)


def test_the_least_comparison_of_searchers_is_counted_from_one() -> None:
    told: list[Progress] = []
    found = wfbench.bench_search(
        searcher=["random", "given:119"],
        synthetic="pairs",
        seeds=2,
        asks=1,
        batch=1,
        progress=told.append,
    )
    assert [(one.done, one.total) for one in told] == [(done, 4) for done in (1, 2, 3, 4)]
    assert [row["trainings"] for row in found.rows()] == [1, 1]
    assert found.source == {"synthetic": "pairs", "icc": 0.3}
    few = wfbench.bench_search(searcher="random", synthetic="mallows", icc=0.5, seeds=2, asks=1)
    assert few.source == {"synthetic": "mallows", "icc": 0.5}


def test_claims_are_told_as_they_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, instead: Any
) -> None:
    told: list[Progress] = []
    labs: list[Any] = []
    results = [
        SimpleNamespace(name="a", finding=SimpleNamespace(verdict="holds"), failure="", seconds=2),
        SimpleNamespace(name="b", finding=None, failure="hung", seconds=1),
    ]

    def measure(lab: Any, names: Any, done: Any) -> Any:
        labs.append((lab.seed, lab.quick, names))
        lab.say("first")
        for index, one in enumerate(results, start=1):
            done(index, 2, one)
        lab.say("then")
        return SimpleNamespace(failed=False)

    monkeypatch.setattr(claims, "measure_claims", measure)
    monkeypatch.setattr(claims, "Laboratory", lambda _, **given: SimpleNamespace(**given))
    written = instead(claims, "write_reproduction_files", ["x"])
    found = wfbench.reproduce("a", "b", progress=told.append)
    assert (found.written, found.exit_code) == ((), 0)
    assert [(one.done, one.total, one.text) for one in told] == [
        (0, 0, "  first"),
        (1, 2, "claim 1/2  a: holds (2 s)"),
        (2, 2, "claim 2/2  b: failed: hung (1 s)"),
        (2, 2, "  then"),
    ]
    assert wfbench.reproduce("a", to=tmp_path, seed=3, quick=True).written == ("x",)
    assert len(written.calls) == 1
    assert labs == [(0, False, ("a", "b")), (3, True, ("a",))]
    with pytest.raises(UsageError, match="--to none: there is no such directory"):
        wfbench.reproduce("a", to="none")


def test_a_row_of_a_claim_says_what_was_measured_or_that_it_failed() -> None:
    told = ("a claim", "180/s", "two cores", "paper", "wfbench 0.3.0", 1.0, ())
    found = Finding(measured="170/s", interval=None, verdict="reproduced", why="It is near.")
    both = (ClaimResult("a", 1, *told, found), ClaimResult("b", 2, *told, None, "hung"))
    made = Reproduction(
        "", "", seed=0, quick=False, seconds=2.0, machine={}, claims=both, measurements=()
    )
    rows = claims.ReproductionResult(made).rows()
    assert [tuple(row.values()) for row in rows] == [
        ("a", "180/s", "170/s", "reproduced"),
        ("b", "180/s", None, "failed"),
    ]


@pytest.mark.parametrize(
    ("trainings", "compliant", "compliance", "pooled", "interval", "status"),
    [
        (1, True, 0.9, True, (9.0, 11.0, "episodes"), "followed"),
        (2, False, 0.9, True, (8.0, 12.0, "trainings"), "not followed"),
        (3, False, math.nan, True, (8.0, 12.0, "trainings"), "untested"),
        (1, False, math.nan, False, (9.0, 11.0, "episodes"), "not followed"),
    ],
)
def test_an_order_has_the_interval_of_its_trainings(
    monkeypatch: pytest.MonkeyPatch,
    trainings: int,
    compliance: float,
    interval: tuple[float, float, str],
    status: str,
    *,
    compliant: bool,
    pooled: bool,
) -> None:
    definition = SimpleNamespace(pooled=pooled)
    monkeypatch.setattr(order_results, "find_definition", lambda _: definition)
    best = SimpleNamespace(compliance=compliance, compliant=compliant, counted=3.0)
    search: Any = SimpleNamespace(config=SimpleNamespace(definition="x"), written=str)
    summary: Any = SimpleNamespace(
        best=best, trainings=(0,) * trainings, between=2.0, within=1.0, mean=10.0, order=(0, 1)
    )
    found = OrderResult.of(search, summary)
    assert (found.low, found.high, found.interval_over) == interval
    assert (found.status, found.trainings, found.score) == (status, trainings, 10.0)


@pytest.mark.parametrize(("about", "over"), [("orders", "trainings"), ("policy", "episodes")])
@pytest.mark.parametrize("share", [None, 0.5])
def test_an_order_of_an_answer_has_its_interval(about: str, over: str, share: float | None) -> None:
    told: Any = SimpleNamespace(
        estimate=5.0,
        half=1.0,
        share_right=share,
        status="followed",
        choices_per_episode=2.0,
        may_be_best=True,
    )
    answer: Any = SimpleNamespace(about=about, trainings=2)
    found = OrderResult.answered("A>B", told, answer)
    assert (found.low, found.high, found.interval_over, found.compliant) == (4.0, 6.0, over, True)
    assert found.compliance == share or (share is None and math.isnan(found.compliance))
    told.status = "untested"
    assert not OrderResult.answered("A>B", told, answer).compliant


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("True", True),
        ("true", True),
        ("False", False),
        ("false", False),
        ("3", 3),
        ("0.5", 0.5),
        ("x", "x"),
    ],
)
def test_a_cell_of_a_file_is_what_it_says(text: str, value: object) -> None:
    found = _number(text)
    assert found == value
    assert type(found) is type(value)
