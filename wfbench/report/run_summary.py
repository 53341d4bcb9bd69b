"""What a run found, as tables and as JSON."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from rich.console import Console

from wfbench.contract import Order
from wfbench.report.console import console, plain_table
from wfbench.report.run_lines import number
from wfbench.search.loop import Search
from wfbench.search.results import WorkflowResult

_SHOWN = 10
_T95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}
"""Student's t for a 95 % interval of a mean of so many values."""
CAVEAT = (
    "± is a 95 % interval of the mean over the episodes of one training; training again with "
    "another seed moves a score several times as far"
)


@dataclass(frozen=True)
class OrderSummary:
    """All workflows of a run that trained one order."""

    order: Order
    trainings: tuple[WorkflowResult, ...]

    @property
    def best(self) -> WorkflowResult:
        """The training to show: compliant before not, then by score."""
        return max(self.trainings, key=lambda r: (r.compliant, _or_lowest(r.score)))

    @property
    def mean(self) -> float:
        """Mean score over trainings that have one."""
        scores = self._scores()
        return fmean(scores) if scores else math.nan

    @property
    def between(self) -> float:
        """Half of the 95 % interval of the mean over trainings; NaN with fewer than two."""
        scores = self._scores()
        if len(scores) < 2:
            return math.nan
        return _T95.get(len(scores), 2.0) * stdev(scores) / math.sqrt(len(scores))

    @property
    def within(self) -> float:
        """Half of the 95 % interval over the episodes of the training that is shown."""
        return 1.96 * self.best.score_error

    def _scores(self) -> list[float]:
        return [r.score for r in self.trainings if not math.isnan(r.score)]


def by_order(finished: Sequence[WorkflowResult]) -> list[OrderSummary]:
    """The orders of a run, best first."""
    found: dict[Order, list[WorkflowResult]] = {}
    for result in finished:
        found.setdefault(result.order, []).append(result)
    orders = [OrderSummary(order, tuple(results)) for order, results in found.items()]
    return sorted(orders, key=lambda o: (o.best.compliant, _or_lowest(o.mean)), reverse=True)


def show_summary(search: Search) -> None:
    """The best orders, what the searcher believes, where the time went, and what to do next."""
    out = console()
    job, best = search.job, search.best
    compliant = sum(result.compliant for result in search.finished)
    out.print(
        f"\n{compliant} of {len(search.finished)} workflows reached {job.config.threshold:.0%} "
        f"compliance ({job.definition.id}); {search.env_steps:,} environment steps"
    )
    _show_orders(out, search)
    _show_belief(out, search)
    _show_time(out, search)
    out.print(f"files: {search.store.path}", soft_wrap=True)
    if best is not None:
        target = shlex.quote(str(search.store.path / "policy.npz"))
        out.print(f"next:  wfbench evaluate {target}", soft_wrap=True)


def summary_json(search: Search) -> dict[str, Any]:
    """The same as `show_summary`, as JSON values."""
    job = search.job
    best = search.best
    return {
        "run": search.store.id,
        "path": str(search.store.path),
        "complete": search.ended,
        "collector": job.collector.label,
        "trainer": job.trainer.label,
        "searcher": job.searcher.label,
        "definition": job.definition.id,
        "beside": job.beside.id,
        "threshold": job.config.threshold,
        "compliant": sum(result.compliant for result in search.finished),
        "best": None if best is None else {"order": job.written(best.order), **best.values()},
        "orders": [
            {
                "order": job.written(order.order),
                "trainings": len(order.trainings),
                "score": order.mean,
                "half_interval_over_trainings": order.between,
                "half_interval_over_episodes": order.within,
                "compliance": order.best.compliance,
                "beside_compliance": order.best.beside_compliance,
                "compliant": order.best.compliant,
            }
            for order in by_order(search.finished)
        ],
        "belief": {
            job.written(order): {"mean": mean, "sd": sd}
            for order, (mean, sd) in _belief(search).items()
        },
        "env_steps": search.env_steps,
        "seconds": search.seconds,
        "elapsed": search.elapsed,
    }


def show_matrix(searches: Sequence[Search], *, alone: bool = True) -> None:
    """One row per combination of collector, trainer and seed; `alone`: each ran by itself."""
    table = plain_table(
        "collector",
        "trainer",
        "seed",
        "compliant",
        "best order",
        "return",
        "steps",
        "start-up s",
        "seconds",
        "steps/s",
    )
    for search in searches:
        best, start = search.best, search.seconds.get("open", 0.0)
        wall = search.seconds.get("wall", 0.0) - start
        compliant = sum(result.compliant for result in search.finished)
        table.add_row(
            search.job.collector.label,
            search.job.trainer.label,
            str(search.job.config.seed),
            f"{compliant}/{len(search.finished)}",
            "-" if best is None else search.job.written(best.order),
            "-" if best is None else number(best.score, 1),
            f"{search.env_steps:,}",
            number(start, 1),
            number(wall, 1),
            number(search.env_steps / wall, 0) if wall else "-",
        )
    out = console()
    out.print()
    out.print(table)
    how = (
        "the combinations took turns, workflow by workflow"
        if alone
        else "the combinations ran beside each other, so their timing is not comparable"
    )
    out.print(
        f"{how}; seconds and steps/s are without start-up, which is building environments and "
        "learner for every workflow",
        soft_wrap=True,
    )


def _show_orders(out: Console, search: Search) -> None:
    job = search.job
    beside = job.beside.name
    table = plain_table("order", "return", "±", "compliance", beside, "trained", "ended by")
    orders = by_order(search.finished)
    for order in orders[:_SHOWN]:
        shown = order.best
        many = len(order.trainings) > 1
        table.add_row(
            job.written(order.order),
            number(order.mean if many else shown.score, 1),
            number(order.between, 1) + " (seeds)" if many else number(order.within, 1),
            number(shown.compliance),
            number(shown.beside_compliance),
            f"{len(order.trainings)}x" if many else "once",
            shown.status if shown.compliant else f"{shown.status}: {shown.reason}",
        )
    out.print(table)
    if len(orders) > _SHOWN:
        out.print(f"and {len(orders) - _SHOWN} more in workflows.csv")
    out.print(f"return is {job.score}; {CAVEAT}", soft_wrap=True)


def _show_belief(out: Console, search: Search) -> None:
    belief = _belief(search)
    # From one score alone a searcher cannot know how far scores lie apart.
    if not belief or len(search.finished) < 2:
        return
    ranked = sorted(belief.items(), key=lambda item: item[1][0], reverse=True)[:5]
    told = ", ".join(
        f"{search.job.written(order)} {number(mean, 1)} ± {number(1.96 * sd, 1)}"
        for order, (mean, sd) in ranked
    )
    out.print(f"the searcher believes most in: {told}", soft_wrap=True)


def _show_time(out: Console, search: Search) -> None:
    wall = search.seconds.get("wall", 0.0)
    if not wall:
        return
    shares = sorted(
        ((s, name) for name, s in search.seconds.items() if name != "wall"), reverse=True
    )
    told = ", ".join(f"{name} {s / wall:.0%}" for s, name in shares if s / wall >= 0.005)
    elapsed = search.elapsed or wall
    rate = search.env_steps / elapsed
    several = f", {wall / elapsed:.1f} at once" if wall > 1.1 * elapsed else ""
    out.print(f"time:  {elapsed:,.1f} s, {rate:,.0f} steps/s{several}; {told}", soft_wrap=True)


def _belief(search: Search) -> Mapping[Order, tuple[float, float]]:
    offered = getattr(search.searcher, "belief", None)
    found: Mapping[Order, tuple[float, float]] = offered() if offered is not None else {}
    return found


def _or_lowest(score: float) -> float:
    return -math.inf if math.isnan(score) else score
