"""The verbs that judge changes: which function of the API they call, with what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wfbench.api import gating, revisions
from wfbench.benchmarks.gate.baseline_store import DEFAULT as BASELINES


def test_two_runs_are_compared_in_every_form(call: Any, runs: Path) -> None:
    def compare(old: str, new: str, *flags: str) -> Any:
        return call("compare", old, new, "--out", str(runs), *flags)

    assert compare("b1", "b2").code == 0
    slower = compare("b1", "b3", "--json")
    assert slower.code == 1
    assert slower.answer["schema"] == "wfbench/compare/1"
    shown, more = compare("b1", "b3"), compare("b1", "b3", "--verbose")
    assert shown.code == 1
    assert len(more.out) > len(shown.out)
    page = compare("b1", "b3", "--md")
    assert page.code == 1
    assert page.out.startswith("#")
    assert page.out.endswith("\n")
    assert not page.out.endswith("\n\n")
    assert "second" in page.out
    for flags in (("--md", "--json"), ("--json", "--md")):
        both = compare("b1", "b2", *flags)
        assert both.code == 2
        assert "one answer is enough" in both.err


def test_several_runs_are_named_with_commas(call: Any, instead: Any) -> None:
    compared = instead(gating, "compare")
    assert call("compare", "a, b,", "c").code == 0
    [(_, given)] = compared.calls
    assert (given["old"], given["new"]) == (["a", "b"], ["c"])


@pytest.mark.parametrize(
    ("flags", "name", "args", "given"),
    [
        ((), "check", (), {"inconclusive": "ok"}),
        (("--busy", "judge"), "check", (), {"inconclusive": "ok", "busy": "judge"}),
        (("--run", "a"), "check", (), {"inconclusive": "ok", "run": ["a"]}),
        (
            ("--against", "HEAD", "--detect", "5%", "--budget", "2m"),
            "check_against",
            ("HEAD",),
            {"inconclusive": "ok", "detect": 0.05, "budget": 120.0},
        ),
        (("--smoke",), "check_gate", (), {}),
    ],
    ids=str,
)
def test_a_check_is_of_a_baseline_of_a_revision_or_of_itself(
    call: Any, instead: Any, flags: tuple[str, ...], name: str, args: Any, given: Any
) -> None:
    recorders = {
        "check": instead(gating, "check"),
        "check_gate": instead(gating, "check_gate"),
        "check_against": instead(revisions, "check_against"),
    }
    done = call("check", *flags)
    assert (done.code, done.err) == (0, "")
    [(positional, named)] = recorders.pop(name).calls
    named.pop("progress")(gating_step())
    assert named.pop("baselines") == BASELINES
    assert (positional, named) == (args, given)
    assert not any(one.calls for one in recorders.values())


def gating_step() -> Any:
    from wfbench.api.results import Progress

    return Progress(0, 0, "")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--collector", "shm"), "--collector: only with --against REV"),
        (("--n-envs", "2", "--env", "cage2"), "--env, --n-envs: only with --against REV"),
        (("--against", "HEAD", "--rounds", "2"), "--rounds: not with --against REV"),
        (("--against", "HEAD", "--busy", "judge"), "--busy: not with --against REV"),
        (("--smoke", "--against", "HEAD"), "--smoke judges no speed"),
        (("--smoke", "--rounds", "2"), "--smoke judges no speed"),
        (("--smoke", "--inconclusive", "fail"), "--smoke judges no speed"),
        (("--budget", "x", "--against", "HEAD"), "'x' is not a time"),
    ],
    ids=str,
)
def test_what_a_check_cannot_use_is_refused(
    call: Any, instead: Any, flags: tuple[str, ...], said: str
) -> None:
    recorders = [
        instead(gating, "check"),
        instead(gating, "check_gate"),
        instead(revisions, "check_against"),
    ]
    done = call("check", *flags)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not any(one.calls for one in recorders)


def test_baselines_are_kept_listed_shown_and_removed(call: Any, runs: Path, tmp_path: Path) -> None:
    place = ("--baselines", str(tmp_path / "kept"))
    kept = call("baseline", "save", "main", "b1", "--out", str(runs), *place, "--force")
    file = tmp_path / "kept" / "main.json"
    assert (kept.code, kept.err) == (0, "")
    assert kept.out.endswith(f"kept as {file}\n")
    again = call("baseline", "save", "main", "b1", "--out", str(runs), *place, "--force")
    assert again.code == 2
    as_json = call(
        *("baseline", "save", "main", "b1", "--out", str(runs), *place),
        *("--force", "--replace", "--json"),
    )
    assert as_json.answer["file"] == str(file)
    (tmp_path / "kept" / "other.json").write_text("[")
    listed = call("baseline", "list", *place, "--json")
    assert [one["name"] for one in listed.answer["baselines"]] == ["main"]
    assert "warning" in listed.err
    assert "other.json" in listed.err
    shown = call("baseline", "show", "main", *place, "--json")
    assert shown.out == file.read_text()
    assert json.loads(shown.out)["name"] == "main"
    assert "second" in call("baseline", "show", "main", *place).out
    removed = call("baseline", "rm", "main", *place)
    assert removed.out == f"removed {file}\n"
    assert not file.exists()
