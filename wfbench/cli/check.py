"""`wfbench check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from wfbench.bench.baseline import Baseline
from wfbench.bench.baseline_cases import cases_now
from wfbench.bench.baseline_files import DEFAULT as BASELINES
from wfbench.bench.baseline_files import find_baseline, read_any
from wfbench.bench.calibration import DEFAULT as CALIBRATION
from wfbench.bench.calibration import read_calibration
from wfbench.bench.checking import TRIAL_FAILED, Check, run_check
from wfbench.bench.gate import QUIET
from wfbench.bench.learning_baseline import LearningBaseline
from wfbench.bench.model import Case, Session, Settings
from wfbench.bench.smoke_check import smoke_check
from wfbench.bench.thresholds import busy_notes, choose_threshold
from wfbench.cli.check_learning import check_learning, refuse_runs
from wfbench.cli.measuring import measured
from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.plugins import PluginHost
from wfbench.report.check import check_data, show_check, show_smoke
from wfbench.report.check_files import markdown, outcomes_of, write_junit
from wfbench.report.console import print_json
from wfbench.store.files import write_json, write_whole, writing
from wfbench.store.machine import fingerprint
from wfbench.store.places import DEFAULT as RUNS
from wfbench.store.places import find_run, new_name

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def check(
    ctx: typer.Context,
    *,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="What to compare with; default: the only one."),
    ] = None,
    baselines: Annotated[
        Path, typer.Option(metavar="DIR", help="Where baselines are kept.")
    ] = BASELINES,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Of a baseline of learning: a search that was made again. Repeatable.",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Samples of each case [default: the baseline's].")
    ] = None,
    minimum_effect: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="The least change that counts, such as 0.1 [default: by calibration].",
        ),
    ] = None,
    inconclusive: Annotated[
        Literal["ok", "fail"], typer.Option(help="How to end where nothing can be said.")
    ] = "ok",
    busy: Annotated[
        Literal["inconclusive", "judge"],
        typer.Option(help="What a slow-down is while other programs use half a core or more."),
    ] = "inconclusive",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where verdict.json, junit.xml and the samples go [default: results/checks/TIME].",
        ),
    ] = None,
    md: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a pull-request comment, too.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Does the gate work here at all? Judges no speed.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Measure a baseline's cases again and fail if one got slower.

    Ratios to a reference case of the same rounds are compared, so the baseline may come from
    another machine. What looks slower is measured a second time before it counts. A baseline of
    learning is compared with searches that are named with --run. Ends with 1 if something got
    slower or learns worse, 3 if a sample failed, 4 if nothing can be said (--inconclusive fail)
    and 5 without a baseline that can be compared with.
    """
    host = session(ctx).host()
    as_json = wants_json(ctx, flag=json)
    if md is not None and not md.parent.is_dir():
        raise UsageError(f"--md {md}: there is no such directory; make it first")
    folder = out or Path("results") / "checks" / new_name(datetime.now().astimezone())
    if smoke:
        given = (baseline, run, rounds, minimum_effect, md, out)
        if any(one is not None for one in given) or (inconclusive, busy) != ("ok", "inconclusive"):
            raise UsageError("--smoke judges no speed; leave the other options out")
        code = _smoke(host, baselines, as_json=as_json)
    else:
        path = find_baseline(baselines, baseline)
        found = read_any(path)
        if isinstance(found, LearningBaseline):
            if (rounds, minimum_effect, busy) != (None, None, "inconclusive"):
                raise UsageError(
                    "--rounds, --minimum-effect and --busy belong to baselines of speed"
                )
            code = check_learning(
                found,
                [find_run(RUNS, name) for name in run or ()],
                folder,
                fails=inconclusive == "fail",
                md=md,
                as_json=as_json,
            )
        else:
            refuse_runs(found, run)
            code = _check(
                host,
                found,
                path,
                folder,
                rounds=rounds,
                minimum_effect=minimum_effect,
                quiet=QUIET if busy == "inconclusive" else None,
                fails=inconclusive == "fail",
                md=md,
                as_json=as_json,
            )
    if code:
        raise typer.Exit(code)


def _check(
    host: PluginHost,
    baseline: Baseline,
    path: Path,
    folder: Path,
    *,
    rounds: int | None,
    minimum_effect: float | None,
    quiet: float | None,
    fails: bool,
    md: Path | None,
    as_json: bool,
) -> int:
    machine = fingerprint()
    cases = cases_now(host, baseline)
    settings = baseline.settings if rounds is None else replace(baseline.settings, rounds=rounds)
    threshold, notes = choose_threshold(
        baseline, machine, read_calibration(CALIBRATION), minimum_effect
    )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)

    def measure(chosen: Sequence[Case], how: Settings, _: str) -> Session:
        return measured(chosen, how, folder / "runs").session

    found = run_check(baseline, cases, settings, replace(threshold, quiet=quiet), measure)
    notes += busy_notes(baseline, found.sessions)
    code = found.exit_code(inconclusive_fails=fails)
    data = check_data(found, notes, exit_code=code, baseline_file=str(path), machine=machine)
    write_json(folder / "verdict.json", "verdict/1", data)
    outcomes = outcomes_of(found, inconclusive_fails=fails)
    write_junit(folder / "junit.xml", baseline.name, outcomes)
    if md is not None:
        write_whole(md, markdown(found, notes).encode())
    if as_json:
        print_json("verdict/1", {"out": str(folder), **data})
    else:
        show_check(found, notes)
    return code


def _smoke(host: PluginHost, baselines: Path, *, as_json: bool) -> int:
    def measure(chosen: Sequence[Case], how: Settings, _: str) -> Session:
        return measured(chosen, how, None).session

    found: Check = smoke_check(host, measure, baselines, fingerprint())
    if as_json:
        print_json("check-smoke/1", check_data(found, ()))
    else:
        show_smoke(found)
    return TRIAL_FAILED if found.failed else 0
