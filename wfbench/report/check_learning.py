"""A check of learning: whether it is surely worse than the margin allows."""

from __future__ import annotations

from typing import Any

from wfbench.bench.comparison import Comparison, Learned
from wfbench.bench.learning_baseline import LearningBaseline, learning_verdict
from wfbench.bench.verdicts import Verdict
from wfbench.report.check import interval_of
from wfbench.report.compare import comparison_data, comparison_markdown
from wfbench.report.console import console, plain_table
from wfbench.store.event_log import plain


def show_learning(baseline: LearningBaseline, found: Comparison) -> None:
    """A line for return and one for compliance of everything that learned."""
    out = console()
    out.print(f"check against baseline {baseline.name}: {found.basis}", style="bold")
    table = plain_table("collector, trainer, searcher", "figure")
    for name in ("then", "now", "difference", "margin"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in found.learned:
        cell = next(c for c in found.cells if (c.name, c.metric) == (one.name, one.metric))
        table.add_row(
            one.name,
            one.metric,
            f"{one.old.value:.4g}",
            f"{one.new.value:.4g}",
            "-" if cell.effect is None else interval_of(cell.effect),
            "-" if one.margin is None else f"{one.margin:.3g}",
            str(learning_verdict(one)),
            style="red" if learning_verdict(one) is Verdict.REGRESSED else None,
        )
    out.print(table)
    for note in found.notes:
        out.print(f"note: {note}", soft_wrap=True)
    out.print(learning_headline(found), style="bold", soft_wrap=True)


def learning_headline(found: Comparison) -> str:
    """The outcome in one line; what is worse is named."""
    for verdict, words in (
        (Verdict.REGRESSED, "REGRESSED: {} learned worse"),
        (Verdict.INCONCLUSIVE, "no regression found; inconclusive: {}"),
    ):
        named = [_named(one) for one in found.learned if learning_verdict(one) is verdict]
        if named:
            return words.format("; ".join(named))
    return "no regression"


def learning_data(baseline: LearningBaseline, found: Comparison, code: int) -> dict[str, Any]:
    """A check of learning as JSON values."""
    verdicts = {learning_verdict(one) for one in found.learned}
    worst = [v for v in (Verdict.REGRESSED, Verdict.INCONCLUSIVE) if v in verdicts]
    values: dict[str, Any] = plain(
        {
            "verdict": str(worst[0]) if worst else "ok",
            "headline": learning_headline(found),
            "exit_code": code,
            "baseline": baseline.name,
            "of": "learning",
            "comparison": comparison_data(found),
        }
    )
    return values


def learning_markdown(baseline: LearningBaseline, found: Comparison) -> str:
    """A pull-request comment: the outcome first, then every figure."""
    head = f"### wfbench check ({baseline.name}): {learning_headline(found)}\n\n"
    return head + comparison_markdown(found)


def _named(one: Learned) -> str:
    return f"{one.metric} of {one.name}"
