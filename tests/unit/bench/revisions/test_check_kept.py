"""What a check against a revision asks of whom, and where it keeps its pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.measure.turns import Turn
from wfbench.benchmarks.revisions import check as module
from wfbench.benchmarks.revisions.building import Build
from wfbench.benchmarks.revisions.check import check_against
from wfbench.benchmarks.revisions.model import Pair, Request, SideSample
from wfbench.benchmarks.revisions.series import Effort
from wfbench.contract import UsageError
from wfbench.host.manager import PluginSettings

ASKED = Request("one")


@pytest.fixture
def asked(repository: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Who was asked for cases; both revisions measure equal pairs."""
    found: list[tuple[str, str]] = []

    def build(_: Any, revision: str | None) -> Build:
        name = "new" if revision is None else "old"
        return Build(revision or "working tree", "c", Path(name), "x")

    def named(new: Build, place: Any, requests: Any) -> Any:
        found.append((f"named in {new.path}", place.path.name))
        return list(requests)

    def own(new: Build, place: Any, like: Request) -> Any:
        found.append((f"own of {new.path}", place.path.name))
        return [like]

    def both(requests: Any, old: Build, place: Any, *, strict: bool) -> Any:
        found.append((f"in {old.path}{' strictly' if strict else ''}", place.path.name))
        return requests, ["something is missing"]

    def side_by_side(places: Any, _: Any, watch: Any) -> Any:
        assert [place.path.name for place in places] == ["old", "new"]

        def measure(request: Request, planned: Pair) -> Pair:
            side = SideSample(0.5, 100, (Turn(1000, 0.02, 0.02),) * 4, "h")
            pair = Pair(planned.case, planned.round, planned.seed, 50, side, side)
            watch(request, pair)
            return pair

        return measure

    monkeypatch.setattr(module, "build", build)
    monkeypatch.setattr(module, "named_requests", named)
    monkeypatch.setattr(module, "own_requests", own)
    monkeypatch.setattr(module, "in_both", both)
    monkeypatch.setattr(module, "side_by_side", side_by_side)
    monkeypatch.chdir(repository.path)
    return found


def check(out: Path, *requests: Request, revision: str = "HEAD", **more: Any) -> Any:
    given = {"requests": requests, "like": ASKED, "effort": Effort(), "plugins": PluginSettings()}
    return check_against(revision, out=out, **given, **more)


@pytest.mark.parametrize("there", [False, True])
def test_every_pair_is_kept_and_told(
    asked: list[tuple[str, str]], tmp_path: Path, *, there: bool
) -> None:
    out = tmp_path / "quite" / "new"
    if there:
        out.mkdir(parents=True)
    watched: list[int] = []
    found = check(out, watch=lambda _, pair: watched.append(pair.round))
    lines = list(map(json.loads, (out / "pairs.jsonl").read_text().splitlines()))
    assert {(one["schema"], one["label"]) for one in lines} == {("wfbench/pair/1", ASKED.label)}
    assert [one["round"] for one in lines] == watched == list(range(8))
    assert found.notes[0] == "something is missing"
    assert (found.old.revision, found.new.revision) == ("HEAD", "working tree")
    assert asked == [("own of new", "new"), ("in old", "old")]


def test_cases_that_are_named_must_be_in_both(asked: list[tuple[str, str]], tmp_path: Path) -> None:
    found = check(tmp_path, Request("two"))
    assert {cell.request.collector for cell in found.cells} == {"two"}
    assert asked == [("named in new", "new"), ("in old strictly", "old")]
    with pytest.raises(UsageError, match="there is no revision 'nowhere'"):
        check(tmp_path, revision="nowhere")
