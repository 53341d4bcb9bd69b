"""A comparison in the terminal and as a comment on a pull request."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wfbench.bench.comparison import Cell, Comparison
from wfbench.bench.statistics import Estimate
from wfbench.bench.verdicts import Verdict
from wfbench.report.compare_learning import learned_lines
from wfbench.report.console import console, plain_table

_STYLES = {
    Verdict.IMPROVED: "green",
    Verdict.REGRESSED: "bold red",
    Verdict.NOT_COMPARABLE: "yellow",
    Verdict.INCONCLUSIVE: "yellow",
}
_MARKDOWN = str.maketrans(
    {**{sign: f"\\{sign}" for sign in "\\`*_[]|#~"}, **{s: f"&#{ord(s)};" for s in "<>@&"}}
)
"""A name cannot become a heading, a link, a tag or the mention of a person."""
_COLUMNS = ("what", "metric", "old", "new", "effect (95 % interval)", "p", "samples", "verdict")


def show_comparison(comparison: Comparison) -> None:
    """The table, and what a reader must know to believe it."""
    out = console()
    out.print(f"{', '.join(comparison.old)} -> {', '.join(comparison.new)}", style="bold")
    out.print(comparison.basis, soft_wrap=True)
    table = plain_table(*_COLUMNS[:2])
    for name in _COLUMNS[2:]:
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    for cell in comparison.cells:
        table.add_row(*_row(cell), style=_STYLES.get(cell.verdict))
    out.print(table)
    for line in _remarks(comparison):
        out.print(line, soft_wrap=True)


def comparison_markdown(comparison: Comparison) -> str:
    """The same as Markdown: the worst first, everything escaped."""
    old, new = (_code(", ".join(side)) for side in (comparison.old, comparison.new))
    lines = [
        f"### wfbench: {headline(comparison)}",
        "",
        f"{_escaped(comparison.basis)}: `{old}` → `{new}`",
        "",
        "| " + " | ".join(_COLUMNS) + " |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]
    order = list(Verdict)
    order.sort(key=lambda verdict: verdict is not Verdict.REGRESSED)
    for cell in sorted(comparison.cells, key=lambda cell: order.index(cell.verdict)):
        cells = [_escaped(text) for text in _row(cell)]
        if cell.verdict in {Verdict.REGRESSED, Verdict.IMPROVED}:
            cells[-1] = f"**{cells[-1]}**"
        lines.append("| " + " | ".join(cells) + " |")
    remarks = _remarks(comparison)
    return "\n".join([*lines, "", *(f"- {_escaped(line)}" for line in remarks)]) + "\n"


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values, with how often each verdict was given."""
    counts = {str(verdict): comparison.count(verdict) for verdict in Verdict}
    return {"headline": headline(comparison), "verdicts": counts, **asdict(comparison)}


def headline(comparison: Comparison) -> str:
    """The verdicts in one line, the worst first."""
    order = (
        Verdict.REGRESSED,
        Verdict.NOT_COMPARABLE,
        Verdict.INCONCLUSIVE,
        Verdict.IMPROVED,
        Verdict.WITHIN_NOISE,
        Verdict.NO_CHANGE,
    )
    found = [(comparison.count(verdict), verdict) for verdict in order]
    return ", ".join(f"{count} {verdict}" for count, verdict in found if count)


def _row(cell: Cell) -> tuple[str, ...]:
    return (
        cell.name,
        cell.metric,
        _figure(cell.old),
        _figure(cell.new),
        _effect(cell),
        "" if cell.p is None else f"{cell.p:.3g}",
        f"{cell.samples[0]} / {cell.samples[1]}",
        str(cell.verdict),
    )


def _figure(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    return f"{estimate.value:,.0f}" if abs(estimate.value) >= 1000 else f"{estimate.value:.4g}"


def _effect(cell: Cell) -> str:
    effect = cell.effect
    if effect is None:
        return ""
    form = "{:.3f}" if cell.scale == "ratio" else "{:+.3g}"
    value = form.format(effect.value)
    if effect.low is None or effect.high is None:
        return value
    return f"{value} ({form.format(effect.low)} to {form.format(effect.high)})"


def _remarks(comparison: Comparison) -> list[str]:
    reasons = [f"{c.name}, {c.metric}: {c.reason}" for c in comparison.cells if c.reason]
    learned = [line for one in comparison.learned for line in learned_lines(one)]
    return [*learned, *reasons, *comparison.notes, _criteria(comparison)]


def _criteria(comparison: Comparison) -> str:
    criteria = comparison.criteria
    tested = sum(cell.test is not None for cell in comparison.cells)
    margins = {c.metric: c.margin for c in comparison.cells if c.margin is not None}
    effects = [f"{metric} by {margin:.3g}" for metric, margin in margins.items()]
    if any(cell.scale == "ratio" for cell in comparison.cells):
        effects.insert(0, f"{100 * criteria.minimum_effect:.3g} %")
    return (
        f"a verdict needs p <= {criteria.alpha:g} (permutation test, adjusted for {tested} cells) "
        f"and a difference of at least {', '.join(effects)}"
    )


def _escaped(text: str) -> str:
    return " ".join(text.translate(_MARKDOWN).split())


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").replace("|", "/").split())
