"""`wfbench.compare`, `check`, `calibrate` and baselines: what changed, and whether it is worse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from wfbench.api.hosting import command_line, plugin_host
from wfbench.api.measuring import session_progress
from wfbench.api.results import Options, Result, Rows, Values, Watcher, as_list, as_paths
from wfbench.benchmarks.compare.model import Comparison
from wfbench.benchmarks.compare.runs import MetricName, compare_runs
from wfbench.benchmarks.compare.sessions import Basis
from wfbench.benchmarks.gate import baseline_store as store
from wfbench.benchmarks.gate import calibration as noise
from wfbench.benchmarks.gate.baseline_store import AnyBaseline
from wfbench.benchmarks.gate.check import Busy, smoke_check
from wfbench.benchmarks.gate.check import check as run_check
from wfbench.benchmarks.gate.learning_baseline import LearningCheck
from wfbench.benchmarks.gate.speed_check import SpeedCheck
from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Settings
from wfbench.benchmarks.revisions.series import RevisionCheck
from wfbench.benchmarks.statistics.verdicts import ALPHA, MINIMUM_EFFECT
from wfbench.contract import ExitCode, UsageError
from wfbench.report import show
from wfbench.report.document import Section
from wfbench.report.sections import baseline as sections
from wfbench.report.sections.check import check_data, check_section, smoke_section
from wfbench.report.sections.comparison import (
    comparison_data,
    comparison_section,
    learning_check_data,
    learning_check_section,
)
from wfbench.report.sections.revisions import revisions_data, revisions_section
from wfbench.settings.selection import Selector
from wfbench.store.files import write_json, write_whole, writing
from wfbench.store.places import DEFAULT, new_name

Strictness = Literal["ok", "fail"]


class ComparisonResult(Result, schema="compare/1"):
    """What two results differ in, cell by cell, and how sure that is."""

    comparison: Comparison
    inconclusive: Strictness = "ok"
    """Whether an inconclusive cell is a failure."""
    verbose: bool = False
    """Whether `show` prints more than effects and verdicts; reports have everything."""

    def show(self) -> None:
        """Print effects and verdicts; with `verbose`, all there is to know about them."""
        show(comparison_section(self.comparison, brief=not self.verbose))

    @property
    def exit_code(self) -> ExitCode:
        """REGRESSION, NOT_COMPARABLE or INCONCLUSIVE if a cell is, in this sequence."""
        return self.comparison.exit_code(inconclusive_fails=self.inconclusive == "fail")

    def _values(self) -> Values:
        return comparison_data(self.comparison)

    def _rows(self) -> Rows:
        return [dict(cell) for cell in self.to_dict()["cells"]]

    def _sections(self) -> Sequence[Section]:
        return [comparison_section(self.comparison)]


class CheckResult(Result, schema="verdict/1"):
    """What was compared with a baseline, or with another revision, and the verdict."""

    check: SpeedCheck | LearningCheck | RevisionCheck
    directory: Path
    """Where verdict.json, junit.xml and the samples or pairs are."""
    inconclusive: Strictness = "ok"

    @property
    def exit_code(self) -> ExitCode:
        """OK, REGRESSION, TRIAL_FAILED, INCONCLUSIVE or NOT_COMPARABLE."""
        return self.check.exit_code(inconclusive_fails=self.inconclusive == "fail")

    @property
    def passed(self) -> bool:
        """Whether nothing got worse."""
        return self.exit_code is ExitCode.OK

    def verdict(self) -> dict[str, Any]:
        """Return what verdict.json holds."""
        found = self.check
        if isinstance(found, RevisionCheck):
            return revisions_data(found, exit_code=self.exit_code)
        if isinstance(found, LearningCheck):
            return learning_check_data(found.baseline.name, found.comparison, self.exit_code)
        more = {"baseline_file": found.baseline_file, "machine": found.machine}
        return check_data(found, found.notes, exit_code=self.exit_code, **more)

    def _values(self) -> Values:
        return {"out": str(self.directory), **self.verdict()}

    def _sections(self) -> Sequence[Section]:
        found, strict = self.check, self.inconclusive == "fail"
        if isinstance(found, RevisionCheck):
            return [revisions_section(found, strict=strict)]
        if isinstance(found, LearningCheck):
            return [learning_check_section(found.baseline.name, found.comparison, strict=strict)]
        return [check_section(found, found.notes, strict=strict)]


class SmokeCheckResult(Result, schema="check-smoke/1"):
    """Whether the gate works on this machine; it judges no speed."""

    check: SpeedCheck

    @property
    def exit_code(self) -> ExitCode:
        """TRIAL_FAILED if a sample failed."""
        return ExitCode.TRIAL_FAILED if self.check.failed else ExitCode.OK

    def _values(self) -> Values:
        return check_data(self.check, ())

    def _sections(self) -> Sequence[Section]:
        return [smoke_section(self.check)]


class BaselineResult(Result, schema="baseline-saved/1"):
    """A stored baseline and its file."""

    path: Path
    baseline: AnyBaseline

    def _values(self) -> Values:
        return {"file": str(self.path), **sections.baseline_data(self.baseline)}

    def _sections(self) -> Sequence[Section]:
        return [sections.baseline_section(self.baseline)]


class BaselineList(Result, schema="baseline-list/1", listed="baselines"):
    """The baselines of a folder."""

    folder: Path
    baselines: tuple[AnyBaseline, ...]
    unreadable: tuple[str, ...] = ()
    """One line for each file that cannot be read."""

    def __iter__(self) -> Iterator[AnyBaseline]:
        return iter(self.baselines)

    def __len__(self) -> int:
        return len(self.baselines)

    def _rows(self) -> Rows:
        return [sections.baseline_data(one) for one in self.baselines]

    def _sections(self) -> Sequence[Section]:
        return [sections.baselines_section(self.baselines, self.folder)]


class CalibrationResult(Result, schema="calibration/1"):
    """How noisy this machine is."""

    path: Path
    calibration: noise.Calibration

    def _values(self) -> Values:
        return sections.calibration_data(self.calibration, self.path)

    def _sections(self) -> Sequence[Section]:
        return [sections.calibration_section(self.calibration, self.path)]


def compare(
    old: str | Path | Sequence[str | Path],
    new: str | Path | Sequence[str | Path],
    *,
    metric: MetricName | None = None,
    basis: Basis | None = None,
    reference: str | None = None,
    steps: int | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    return_margin: float | None = None,
    compliance_margin: float | None = None,
    alpha: float = ALPHA,
    inconclusive: Strictness = "ok",
    verbose: bool = False,
    out: str | Path = DEFAULT,
) -> ComparisonResult:
    """Compare two bench runs, or searches: paired by their seeds, or unpaired if they differ.

    old, new: runs by name in `out` or by path, or a file of `wfbench bench --json`.
    metric: of bench runs: "rate" (default), "cpu", "memory" or "start-up".
    basis: of bench runs: "ratio" to a reference case, "rate" as it is (same machine only), or
        "auto" (default): ratios wherever there are two cases.
    steps, return_margin, compliance_margin: of searches: compare after so many steps, and the
        smallest differences that count.
    minimum_effect, alpha: smallest ratio that counts, and largest p value.
    verbose: `show` prints criteria, settings and remarks, too.

    Example: wfbench.compare("before", "after").rows()
    """
    found = compare_runs(
        as_paths(old),
        as_paths(new),
        out=Path(out),
        metric=metric,
        basis=basis,
        reference=reference,
        steps=steps,
        return_margin=return_margin,
        compliance_margin=compliance_margin,
        minimum_effect=minimum_effect,
        alpha=alpha,
    )
    return ComparisonResult(found, inconclusive, verbose)


def check(
    baseline: str | Path | None = None,
    *,
    baselines: str | Path = store.DEFAULT,
    run: str | Path | Sequence[str | Path] = (),
    rounds: int | None = None,
    minimum_effect: float | None = None,
    inconclusive: Strictness = "ok",
    busy: Busy = "inconclusive",
    out: str | Path | None = None,
    md: str | Path | None = None,
    progress: Watcher | None = None,
) -> CheckResult:
    """Measure a baseline's cases again and judge whether one got slower.

    baseline: its name in `baselines` or its file; default: the only one.
    run: of a baseline of learning: the searches that were made again.
    rounds: samples of each case; default: the baseline's.
    minimum_effect: smallest change that counts; default: from the calibration.
    inconclusive: "fail" makes an inconclusive result a failure.
    busy: "judge" also judges while other programs use half a core or more.
    out: directory for verdict.json, junit.xml and the samples; default: results/checks/TIME.
    md: a file for a pull-request comment.

    What looks slower is measured a second time before it counts.

    Example: wfbench.check("main").passed
    """
    directory = checks_directory(out, md)
    found = run_check(
        plugin_host(),
        baseline=None if baseline is None else str(baseline),
        baselines=Path(baselines),
        runs=as_paths(run),
        rounds=rounds,
        minimum_effect=minimum_effect,
        busy=busy,
        samples=directory / "runs",
        command=command_line(),
        progress=session_progress(progress),
    )
    result = CheckResult(found, directory, inconclusive)
    write_verdict(result, md)
    return result


def checks_directory(out: str | Path | None, md: str | Path | None) -> Path:
    """Return where a check writes its files, before anything is measured."""
    if md is not None and not Path(md).parent.is_dir():
        raise UsageError(f"--md {md}: there is no such directory; make it first")
    usual = Path("results") / "checks" / new_name(datetime.now().astimezone())
    return usual if out is None else Path(out)


def write_verdict(result: CheckResult, md: str | Path | None) -> None:
    """Write verdict.json, junit.xml and, if asked, a pull-request comment."""
    directory = result.directory
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "verdict.json", result.schema, result.verdict())
    write_whole(directory / "junit.xml", result.report("junit").encode())
    if md is not None:
        write_whole(Path(md), result.report("md").encode())


def check_gate(
    *, baselines: str | Path = store.DEFAULT, progress: Watcher | None = None
) -> SmokeCheckResult:
    """Test whether the gate works on this machine: what `wfbench check --smoke` does.

    Example: wfbench.check_gate().show()
    """
    watch = session_progress(progress)
    return SmokeCheckResult(smoke_check(plugin_host(), baselines=Path(baselines), progress=watch))


def calibrate(
    *,
    collector: Selector | Sequence[Selector] = ("sequential", "shm"),
    env: str = "cage2",
    n_envs: int = 50,
    policy: str = "random",
    rounds: int = 60,
    window: int = 10,
    seconds: float = 0.5,
    steps: int = 50,
    seed: int = 0,
    options: Options | None = None,
    out: str | Path = noise.DEFAULT,
    progress: Watcher | None = None,
) -> CalibrationResult:
    """Measure how noisy this machine is: checks of code that does not change.

    collector: two or more; the others are measured against the first, as a check does.
    rounds, window: rounds to measure, and rounds of one check; three checks must fit.
    out: the file for the result, which `check` reads.

    Example: wfbench.calibrate(rounds=30).show()
    """
    cases = select_cases(
        plugin_host(),
        collectors=as_list(collector),
        env=env,
        n_envs=[n_envs],
        policy=policy,
        options=options,
    )
    settings = Settings(rounds=rounds, seconds=seconds, steps=steps, seed=seed)
    found = noise.calibrate(cases, settings, window, session_progress(progress))
    noise.write_calibration(Path(out), found)
    return CalibrationResult(Path(out), found)


def save_baseline(
    name: str,
    runs: str | Path | Sequence[str | Path],
    *,
    reference: str | None = None,
    steps: int | None = None,
    return_margin: float | None = None,
    compliance_margin: float | None = None,
    replace: bool = False,
    force: bool = False,
    out: str | Path = DEFAULT,
    baselines: str | Path = store.DEFAULT,
) -> BaselineResult:
    """Keep a bench run, or searches with different seeds, as a baseline for `check`.

    reference: of a bench run: the case that ratios are to; default: the first.
    steps, return_margin, compliance_margin: of searches: compare after so many steps, and how
        much worse they may be.
    replace: overwrite a baseline of the same name.
    force: of a bench run: keep it though the machine was busy; checks against it never fail.

    Example: wfbench.save_baseline("main", "results/runs/mine")
    """
    path, made = store.save_baseline(
        name,
        as_paths(runs),
        out=Path(out),
        reference=reference,
        steps=steps,
        return_margin=return_margin,
        compliance_margin=compliance_margin,
        baselines=Path(baselines),
        replace=replace,
        force=force,
    )
    return BaselineResult(path, made)


def baselines(folder: str | Path = store.DEFAULT) -> BaselineList:
    """List the baselines of a folder.

    Example: [one.name for one in wfbench.baselines()]
    """
    found, unreadable = store.list_baselines(Path(folder))
    return BaselineList(Path(folder), tuple(found), tuple(unreadable))


def load_baseline(name: str | Path, *, folder: str | Path = store.DEFAULT) -> BaselineResult:
    """Read a baseline, given by its name in the folder or by its file.

    Example: wfbench.load_baseline("main").show()
    """
    path = store.find_baseline(Path(folder), str(name))
    return BaselineResult(path, store.read_baseline(path))


def remove_baseline(name: str, *, folder: str | Path = store.DEFAULT) -> Path:
    """Remove a baseline and return the file it was in.

    Example: wfbench.remove_baseline("main")
    """
    return store.remove_baseline(Path(folder), name)
