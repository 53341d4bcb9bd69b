"""A report in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from wfbench.report.console import plain_table
from wfbench.report.document import OUTCOME_NAMES, Bars, Check, Exhibit, Outcome, Report, Section
from wfbench.report.written import written

_ROWS = 12
_BAR = 24
_STYLES: dict[Outcome, str] = {"good": "green", "bad": "bold red", "open": "yellow"}


def show_report(report: Report, out: Console) -> None:
    """Print summary and verdicts, then every section."""
    out.print(clean(report.title), style="bold")
    for section in report.sections:
        out.print(_line(section.headline, section.title), soft_wrap=True)
    for section in report.sections:
        _show_section(section, out)


def _line(check: Check, name: str) -> Text:
    mark = f"{OUTCOME_NAMES[check.outcome]:<7}"
    return Text.assemble((mark, _STYLES[check.outcome]), clean(f"{name}: {check.says}"))


def clean(text: str) -> str:
    """A text without what a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


def _show_section(section: Section, out: Console) -> None:
    out.print()
    out.print(clean(section.title), style="bold underline")
    if section.figures:
        told = ", ".join(f"{fact.name} {fact.value}" for fact in section.figures)
        out.print(clean(told), soft_wrap=True)
    for check in section.checks:
        if check.outcome != "good":
            out.print(_line(check, check.name), soft_wrap=True)
    for note in section.notes:
        out.print(clean(f"note: {note}"), soft_wrap=True)
    for exhibit in section.exhibits:
        _show_exhibit(exhibit, out)


def _show_exhibit(exhibit: Exhibit, out: Console) -> None:
    out.print()
    out.print(clean(exhibit.title), style="bold")
    table, picture = exhibit.table, exhibit.picture
    shown = plain_table(*(clean(column.title) for column in table.columns))
    bars = _bars(exhibit) if isinstance(picture, Bars) else None
    if bars is not None:
        shown.add_column("")
    for number, row in enumerate(table.rows[:_ROWS]):
        cells = [clean(written(v, c)) for v, c in zip(row, table.columns, strict=True)]
        shown.add_row(*cells, *([] if bars is None else [bars[number]]))
    out.print(shown)
    if len(table.rows) > _ROWS:
        out.print(f"and {len(table.rows) - _ROWS} more rows with --csv or --html", style="dim")
    out.print(clean(f"made by: {exhibit.command}"), style="dim", soft_wrap=True)


def _bars(exhibit: Exhibit) -> list[str]:
    assert isinstance(exhibit.picture, Bars)  # noqa: S101 - narrows the type
    values = exhibit.table.numbers(exhibit.picture.value)
    most = max((abs(v) for v in values if v is not None), default=0.0) or 1.0
    return ["" if v is None else "█" * max(1, round(_BAR * abs(v) / most)) for v in values]
