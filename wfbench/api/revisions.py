"""`wfbench.check_against` and `bisect`: revisions of a project side by side on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wfbench.api.gating import CheckResult, Strictness, checks_directory, write_verdict
from wfbench.api.hosting import plugin_host, plugin_settings
from wfbench.api.results import Progress, Result, Values, Watcher, as_list
from wfbench.benchmarks.gate import baseline_store as store
from wfbench.benchmarks.gate.baseline_store import Baseline
from wfbench.benchmarks.measure.cases import env_label
from wfbench.benchmarks.revisions import bisecting
from wfbench.benchmarks.revisions import check as gate
from wfbench.benchmarks.revisions.bisecting import Bisection
from wfbench.benchmarks.revisions.model import METRICS, Pair, Request
from wfbench.benchmarks.revisions.series import Effort, RevisionCheck, Watch
from wfbench.contract import UsageError
from wfbench.report.document import Section
from wfbench.report.sections.revisions import bisection_data, bisection_section


class RevisionCheckResult(CheckResult, schema="verdict/1"):
    """What differs between two revisions, and the verdict on it."""

    check: RevisionCheck


def check_against(
    revision: str,
    *,
    collector: str | Sequence[str] = (),
    env: str | None = None,
    n_envs: int | None = None,
    policy: str | None = None,
    baseline: str | Path | None = None,
    baselines: str | Path = store.DEFAULT,
    detect: float = 0.10,
    budget: float = 600.0,
    seconds: float = 1.0,
    seed: int = 0,
    inconclusive: Strictness = "ok",
    out: str | Path | None = None,
    md: str | Path | None = None,
    progress: Watcher | None = None,
) -> RevisionCheckResult:
    """Compare the working tree of the project in the current folder with another revision.

    revision: what git knows it by, such as "origin/main".
    collector, env, n_envs, policy: what to measure; default: every collector of the project, on
        cage2 with 200 environments and a random policy.
    baseline: measure its cases instead.
    detect: the slow-down that must be found, as a share.
    budget: seconds to spend. If they are not enough, the result says what they were enough for.
    seconds: per side and pair of processes.
    inconclusive, out, md: as of `check`.

    Both are built and measured in turns on this machine: rate, CPU time per transition, memory and
    start-up. What looks worse is measured a second time before it counts.

    Example: wfbench.check_against("origin/main", collector="shm").passed
    """
    directory = checks_directory(out, md)
    chosen = {"env": env, "n_envs": n_envs, "policy": policy}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    requests = [Request(one, **given) for one in as_list(collector)]
    if baseline is not None:
        if requests or given:
            raise UsageError("--baseline already says what to measure; leave the others out")
        requests = _requests_of(store.find_baseline(Path(baselines), str(baseline)))
    found = gate.check_against(
        revision,
        requests=requests,
        like=Request("all", **given),
        effort=Effort(detect=detect, budget=budget, seconds=seconds, seed=seed),
        out=directory,
        plugins=plugin_settings(),
        watch=_watching(progress),
    )
    result = RevisionCheckResult(found, directory, inconclusive)
    write_verdict(result, md)
    return result


class BisectResult(Result, schema="bisect/1"):
    """The first slow commit, and how it was found."""

    bisection: Bisection

    @property
    def commits(self) -> tuple[str, ...]:
        """The first slow commit; several if those between could not be measured."""
        return self.bisection.first

    def _values(self) -> Values:
        return bisection_data(self.bisection)

    def _sections(self) -> Sequence[Section]:
        return [bisection_section(self.bisection)]


def bisect(
    case: str,
    *,
    good: str,
    bad: str = "HEAD",
    env: str = "cage2",
    n_envs: int = 200,
    policy: str = "random",
    metric: str = "rate",
    detect: float = 0.10,
    budget: float = 600.0,
    seconds: float = 1.0,
    seed: int = 0,
    progress: Watcher | None = None,
) -> BisectResult:
    """Name the commit of the project in the current folder from which on a collector is slow.

    case: the collector.
    good, bad: a fast revision and a later, slow one.
    metric: "rate", "cpu", "memory" or "start-up".
    detect, budget, seconds: as of `check_against`, for the comparison of `good` with `bad`.

    Commits that cannot be built or measured are skipped, and the result says so.

    Example: wfbench.bisect("shm", good="v0.2.0").commits
    """
    if metric not in METRICS:
        raise UsageError(f"there is no metric {metric!r}; choose from {', '.join(METRICS)}")
    found = bisecting.bisect(
        Request(case, env, n_envs, policy),
        good=good,
        bad=bad,
        metric=metric,
        effort=Effort(detect=detect, budget=budget, seconds=seconds, seed=seed),
        plugins=plugin_settings(),
        watch=_watching(progress),
    )
    return BisectResult(found)


def _requests_of(path: Path) -> list[Request]:
    found = store.read_baseline(path)
    if not isinstance(found, Baseline):
        raise UsageError(f"{found.name} is a baseline of learning; --against measures speed")
    host = plugin_host()
    cases = [cell.case for cell in found.cells]
    return [Request(c.label, env_label(host, c), c.n_envs, c.policy) for c in cases]


def _watching(progress: Watcher | None) -> Watch | None:
    if progress is None:
        return None
    taken = 0

    def update(request: Request, pair: Pair) -> None:
        nonlocal taken
        taken += 1
        if pair.failure is not None:
            said = f"failed: {pair.failure}"
        else:
            old, new = pair.figures("rate")
            said = f"{old:,.0f} and {new:,.0f} transitions/s"
        again = "again, " if pair.round >= gate.AGAIN else ""
        number = pair.round % gate.AGAIN + 1
        progress(Progress(taken, 0, f"{again}round {number}  {request.label}  {said}", pair))

    return update
