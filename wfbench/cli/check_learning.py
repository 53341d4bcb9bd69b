"""`wfbench check` against a baseline of learning: compares searches that were made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wfbench.bench.baseline_files import AnyBaseline
from wfbench.bench.checking import INCONCLUSIVE, OK, REGRESSION
from wfbench.bench.learning_baseline import LearningBaseline, compare_with, learning_verdict
from wfbench.bench.learning_runs import load_learning_runs
from wfbench.bench.verdicts import Verdict
from wfbench.contract import UsageError
from wfbench.report.check_files import Outcome, outcome_of, write_junit
from wfbench.report.check_learning import learning_data, learning_markdown, show_learning
from wfbench.report.console import print_json
from wfbench.store.files import write_json, write_whole, writing


def check_learning(
    baseline: LearningBaseline,
    runs: Sequence[Path],
    folder: Path,
    *,
    fails: bool,
    md: Path | None,
    as_json: bool,
) -> int:
    """Compare searches with the baseline's, write and show it; the exit code."""
    if not runs:
        seeds = ", ".join(str(run.seed) for run in baseline.runs)
        raise UsageError(
            f"{baseline.name} is a baseline of learning: search again with the same settings "
            f"(seeds {seeds}) and name the searches with --run"
        )
    found = compare_with(baseline, load_learning_runs(runs), ", ".join(map(str, runs)))
    verdicts = [learning_verdict(one) for one in found.learned]
    code = OK
    if Verdict.REGRESSED in verdicts:
        code = REGRESSION
    elif fails and Verdict.INCONCLUSIVE in verdicts:
        code = INCONCLUSIVE
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    data = learning_data(baseline, found, code)
    write_json(folder / "verdict.json", "verdict/1", data)
    write_junit(
        folder / "junit.xml",
        baseline.name,
        [
            Outcome(f"{one.metric}: {one.name}", outcome_of(verdict, fails=fails), str(verdict))
            for one, verdict in zip(found.learned, verdicts, strict=True)
        ],
    )
    if md is not None:
        write_whole(md, learning_markdown(baseline, found).encode())
    if as_json:
        print_json("verdict/1", {"out": str(folder), **data})
    else:
        show_learning(baseline, found)
    return code


def refuse_runs(baseline: AnyBaseline, runs: Sequence[str] | None) -> None:
    """A baseline of speed is measured again; there is nothing to name."""
    if runs:
        raise UsageError(
            f"{baseline.name} is a baseline of speed, which check measures itself; "
            "leave --run out, or use `wfbench compare`"
        )
