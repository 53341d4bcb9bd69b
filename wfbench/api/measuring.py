"""`wfbench.bench`: measure how fast collectors are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wfbench.api.hosting import command_line, plugin_host
from wfbench.api.results import Options, Progress, Result, Rows, Values, Watcher, as_list
from wfbench.benchmarks.measure import summary
from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.measure.model import Case, Session, make_settings
from wfbench.benchmarks.measure.runner import SessionProgress, measure_session
from wfbench.benchmarks.measure.saved import load_machine, load_session
from wfbench.benchmarks.measure.stopping import MOST_ROUNDS, Limits
from wfbench.benchmarks.scaling import points
from wfbench.benchmarks.scaling.curves import (
    CollectorCosts,
    GrowthCurve,
    collector_costs,
    growth_curves,
)
from wfbench.contract import ExitCode, UsageError
from wfbench.processes.limits import usable_cores
from wfbench.report.console import console
from wfbench.report.document import Section
from wfbench.report.sections.bench import bench_data, saved_bench_section
from wfbench.report.sections.scaling import scaling_data
from wfbench.settings.selection import Selector
from wfbench.store.places import DEFAULT


class Bench(Result, schema="bench/1"):
    """Measured throughput of collectors, sample by sample."""

    session: Session
    """Cases, settings and every sample."""
    path: Path
    """The run directory that keeps them."""

    @classmethod
    def load(cls, path: Path) -> Bench:
        """Read a bench run from its directory."""
        return cls(load_session(path), path)

    @property
    def cases(self) -> list[summary.CaseSummary]:
        """The figures of each case: rate with its interval, ratio to the first case, phases."""
        return summary.summarise(self.session)

    @property
    def equal_work(self) -> list[summary.EqualWork]:
        """For each number of environments, whether the collectors collected the same."""
        return summary.equal_work(self.session)

    @property
    def growth(self) -> list[GrowthCurve]:
        """Figures by environments and by workers, and whether they are flat, linear or bend."""
        return growth_curves(self.session)

    @property
    def costs(self) -> list[CollectorCosts]:
        """What a step costs each collector with workers, and what more cores would bring."""
        return collector_costs(self.session, int(load_machine(self.path)["usable_cores"]))

    @property
    def exit_code(self) -> ExitCode:
        """TRIAL_FAILED if a sample failed or collectors did not collect the same."""
        return ExitCode.OK if summary.is_sound(self.session) else ExitCode.TRIAL_FAILED

    def _values(self) -> Values:
        values = {"run": str(self.path), **bench_data(self.session)}
        if self.session.settings.scaling:
            values["scaling"] = scaling_data(self.growth, self.costs)
        return values

    def _rows(self) -> Rows:
        found = []
        for case in self.cases:
            row: dict[str, Any] = {"collector": case.label, "n_envs": case.n_envs}
            if case.figures is not None:
                rate = case.figures.rate
                row |= {"rate": rate.value, "low": rate.low, "high": rate.high}
                row |= {"cpu_us": case.figures.cpu_us, "memory": case.figures.memory}
                row |= {"start_up": case.figures.start_up}
            row["ratio"] = None if case.ratio is None else case.ratio.value
            found.append(row)
        return found

    def show(self) -> None:
        """Print the table of cases, and where the samples are."""
        super().show()
        console().print(f"samples are in {self.path}", soft_wrap=True)

    def _sections(self) -> Sequence[Section]:
        return [saved_bench_section(self.path)]


def bench(
    *,
    collector: Selector | Sequence[Selector] = "all",
    env: str = "cage2",
    n_envs: int | Sequence[int] | None = None,
    policy: str = "random",
    rounds: int | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    workers: int | Sequence[int] | None = None,
    scaling: bool = False,
    seed: int = 0,
    options: Options | None = None,
    budget: float | None = None,
    until_precision: float | None = None,
    smoke: bool = False,
    out: str | Path = DEFAULT,
    name: str | None = None,
    progress: Watcher | None = None,
) -> Bench:
    """Measure how fast collectors are on an environment.

    collector: names such as "shm:workers=2", classes of your own, or "all".
    n_envs: how many environments are stepped together (200); several are measured in turn.
    policy: who chooses the actions: "random" or "network".
    rounds, seconds, steps: samples of each case (default 5), least time of a sample (0.5 s), and
        steps of every environment per collect (50).
    workers: for every collector that has workers.
    scaling: measure how collectors grow: `n_envs` from 1 to 20,000 and `workers` from 1 to twice
        the cores unless given, three rounds of 0.3 s. What would take too long is skipped.
    budget, until_precision: measure rounds for so many seconds, or until the interval of every
        rate is within this share of it, such as 0.05; with `rounds`, at most so many.
    smoke: two very short rounds that show whether it works at all.
    out, name: the samples are kept in OUT/NAME.

    Every sample comes from a fresh process, and every round measures each case once, in turns with
    the first case that has as many environments.

    Example: wfbench.bench(collector=[MyCollector, "vector"], n_envs=50).rows()
    """
    chosen = {"collectors": as_list(collector), "env": env, "policy": policy, "options": options}
    cases = _bench_cases(chosen, n_envs, workers, smoke=smoke, scaling=scaling)
    limits = Limits(budget, until_precision)
    rounds = _most_rounds(rounds, limits, own_rounds=smoke or scaling)
    settings = make_settings(
        rounds=rounds, seconds=seconds, steps=steps, seed=seed, smoke=smoke, scaling=scaling
    )
    session, path = measure_session(
        cases,
        settings,
        out=Path(out),
        name=name,
        command=command_line(),
        progress=session_progress(progress, limits),
        skip=points.too_much if scaling else None,
        enough=limits.enough,
    )
    return Bench(session, path)


def _bench_cases(
    chosen: Mapping[str, Any],
    n_envs: int | Sequence[int] | None,
    workers: int | Sequence[int] | None,
    *,
    smoke: bool,
    scaling: bool,
) -> Sequence[Case]:
    """Return the cases of a bench, one for each number of workers if it is about growth."""
    usual = (points.SMOKE_SIZES if smoke else points.SIZES) if scaling else 200
    sizes = _checked_counts("--n-envs", as_list(usual if n_envs is None else n_envs))
    counts = None if workers is None else _checked_counts("--workers", as_list(workers))
    if scaling:
        counts = counts or list(points.worker_counts(usable_cores()))
        return points.select_points(plugin_host(), n_envs=sizes, workers=counts, **chosen)
    if counts is not None and len(counts) > 1:
        raise UsageError("several numbers of --workers need --scaling")
    number = counts[0] if counts else None
    return select_cases(plugin_host(), n_envs=sizes, workers=number, **chosen)


def _most_rounds(rounds: int | None, limits: Limits, *, own_rounds: bool) -> int | None:
    """Return how many rounds a bench may have; None for as many as usual."""
    if limits.budget is None and limits.precision is None:
        return rounds
    if own_rounds:
        raise UsageError(
            "--smoke and --scaling have their own rounds; leave --budget and --until-precision out"
        )
    return MOST_ROUNDS if rounds is None else rounds


def session_progress(
    progress: Watcher | None, limits: Limits | None = None
) -> SessionProgress | None:
    """Return a callback for sessions that are measured on behalf of a caller."""
    if progress is None:
        return None
    clock = limits or Limits()

    def update(session: Session) -> None:
        if session.samples:
            sample, rounds = session.samples[-1], session.settings.rounds
            case, total = session.cases[sample.case], len(session.cases) * rounds
            speed = f"{sample.rate:,.0f} transitions/s"
            found = speed if sample.failure is None else f"failed: {sample.failure}"
            found = found if sample.skipped is None else f"skipped: {sample.skipped}"
            of = "" if clock.precision is not None or rounds == MOST_ROUNDS else f"/{rounds}"
            where = f"round {sample.round + 1}{of}  {case.label}  {case.n_envs} envs"
            left = clock.seconds_left(session)
            if clock.precision is None or clock.budget is not None:
                found += f"  {left:.0f} s left" if left >= 1 else ""
            progress(Progress(len(session.samples), total, f"{where}  {found}", sample))

    return update


def _checked_counts(flag: str, counts: list[int]) -> list[int]:
    text = ",".join(map(str, counts))
    if not counts or any(count < 1 for count in counts):
        raise UsageError(f"{flag} {text}: this is not a list of positive numbers such as 25,200")
    if len(set(counts)) != len(counts):
        raise UsageError(f"{flag} {text}: a number is given twice")
    return counts
