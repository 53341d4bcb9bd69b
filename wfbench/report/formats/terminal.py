"""A report in the terminal: verdicts first, then tables that keep names and numbers whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from wfbench.report import document as doc
from wfbench.report.written import WrittenCell, WrittenTable, written, written_table

_SERIES = (doc.Curves, doc.Timeline, doc.Spread, doc.Heat)
_SERIES_ROWS, _ROWS = 12, 40
"""Rows of data that are made to be drawn, and of other pictures; a mere table is shown whole."""
_BAR = 20
_GAP = 2
_PROSE = 24
"""Columns that a text needs at least where it is folded."""
_SMALL = 0.5
"""Percent; smaller shares are left out."""
_STYLES: dict[doc.Outcome, str] = {"good": "green", "bad": "bold red", "open": "yellow"}


def show_report(report: doc.Report, out: Console) -> None:
    """Print the verdicts of several sections, then every section; a single one by itself."""
    if len(report.sections) > 1:
        out.print(clean(report.title), style="bold")
        for section in report.sections:
            out.print(_line(section.headline, section.title), soft_wrap=True)
        out.print()
    for place, section in enumerate(report.sections):
        if place:
            out.print()
        show_section(section, out)


def show_section(section: doc.Section, out: Console) -> None:
    """Print the headline, the tables, what is not ok, what a reader must know, and what follows."""
    out.print(_line(section.headline, section.title), style="bold", soft_wrap=True)
    if section.figures:
        text = ", ".join(f"{fact.name} {fact.value}" for fact in section.figures)
        out.print(clean(text), soft_wrap=True)
    for exhibit in section.exhibits:
        _show_exhibit(exhibit, out)
    lines = [_line(check, check.name) for check in section.remarkable]
    lines += [Text(clean(f"note: {note}")) for note in section.notes]
    if lines and section.exhibits:
        out.print()
    for line in lines:
        out.print(line, soft_wrap=True)
    for command in dict.fromkeys(exhibit.command for exhibit in section.exhibits):
        if command:
            out.print(clean(f"made by: {command}"), style="dim", soft_wrap=True)
    _show_conclusion(section, out)


def _show_conclusion(section: doc.Section, out: Console) -> None:
    """Print what was found and what to do with it, as the last thing that is read."""
    if section.concluding:
        out.print()
        out.print("Conclusion", style="bold")
        for said in section.concluding:
            out.print(clean(f"  {said}"), soft_wrap=True)
        if section.afterwards:
            out.print()
    for step in section.afterwards:
        out.print(clean(step), soft_wrap=True)


def clean(text: str) -> str:
    """Return a text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


def _line(check: doc.Check, name: str) -> Text:
    mark = f"{doc.OUTCOME_NAMES[check.outcome]:<10}"
    return Text.assemble((mark, _STYLES[check.outcome]), clean(f"{name}: {check.says}"))


def _show_exhibit(exhibit: doc.Exhibit, out: Console) -> None:
    table = _shares(exhibit) or written_table(exhibit)
    if not table.rows:
        return
    limit = None
    if exhibit.picture is not None:
        limit = _SERIES_ROWS if isinstance(exhibit.picture, _SERIES) else _ROWS
    if exhibit.title:
        out.print()
        out.print(clean(exhibit.title), style="bold")
    rows = [tuple(clean(cell.text) for cell in row) for row in table.rows[:limit]]
    heads = _heads(table.heads, rows, out.width)
    numbers = _number_columns(table)
    blocks = [] if _stack(table, rows, numbers, out) else _blocks(heads, rows, numbers, out.width)
    for number, block in enumerate(blocks):
        if number:
            out.print()
        shown = _table(heads, block, numbers)
        cells = [[row[i] for i in block] for row in rows]
        room = out.width - sum(_widths([heads[i] for i in block], cells)) - _GAP * len(block)
        drawn = exhibit.picture if isinstance(exhibit.picture, doc.Bars) else None
        if drawn is not None and not drawn.log and not number and room >= _BAR // 2:
            shown.add_column("")
            bars = _bars(exhibit.table.numbers(drawn.value), min(room, _BAR))
            cells = [[*row, bar] for row, bar in zip(cells, bars, strict=False)]
        for row in cells:
            shown.add_row(*row)
        out.print(shown)
    if len(table.rows) > len(rows):
        out.print(
            f"and {len(table.rows) - len(rows):,} more rows with --csv or --html", style="dim"
        )
    if exhibit.reading:
        out.print(clean(exhibit.reading), style="dim", soft_wrap=True)


def _stack(
    table: WrittenTable, rows: Sequence[Sequence[str]], numbers: set[int], out: Console
) -> bool:
    """Print one value per line where not even one column fits beside the names; return whether."""
    natural = _widths([clean(head).replace(" (", "\n(", 1) for head in table.heads], rows)
    keys = _keys(rows)
    widest = max((natural[i] for i in numbers), default=_PROSE)
    if sum(natural[:keys]) + _GAP * keys + widest <= out.width:
        return False
    for row in rows:
        out.print(", ".join(row[:keys]), soft_wrap=True)
        for head, cell in list(zip(table.heads, row, strict=True))[keys:]:
            out.print(clean(f"  {head}: {cell}"), soft_wrap=True)
    return True


def _keys(rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns name a row: two where the first alone is not enough."""
    return 1 if len({row[0] for row in rows}) == len(rows) or len(rows[0]) < 3 else 2


def _number_columns(table: WrittenTable) -> set[int]:
    return {
        i
        for i in range(1, len(table.heads))
        if any(row[i].is_number for row in table.rows)
        and all(row[i].is_number or len(row[i].text) < 2 for row in table.rows)
    }


def _blocks(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: set[int], width: int
) -> Iterator[list[int]]:
    """Yield which columns to print side by side; each block begins with what names a row."""
    natural = _widths(heads, rows)
    needed = [
        wide if i == 0 or i in numbers else min(wide, _PROSE) for i, wide in enumerate(natural)
    ]
    keys = _keys(rows)
    names, taken = list(range(keys)), sum(needed[:keys]) + _GAP * (keys - 1)
    block, used = list(names), taken
    for i in range(keys, len(heads)):
        if used + _GAP + needed[i] > width and len(block) > keys:
            yield block
            block, used = list(names), taken
        block.append(i)
        used += _GAP + needed[i]
    yield block


def _heads(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the titles, with units in a line of their own where the table is wide."""
    titles = [clean(head) for head in heads]
    if sum(_widths(titles, rows)) + _GAP * len(titles) <= width:
        return titles
    return [title.replace(" (", "\n(", 1) for title in titles]


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    lines = [max(map(len, head.split("\n"))) for head in heads]
    return [max(own, *(len(row[i]) for row in rows)) for i, own in enumerate(lines)]


def _shares(exhibit: doc.Exhibit) -> WrittenTable | None:
    """Return shares as one line of text per row, the largest first."""
    table, picture = exhibit.table, exhibit.picture
    if not isinstance(picture, doc.Shares):
        return None
    parts = {part: table.numbers(part) for part in picture.parts}
    kept = [i for i, column in enumerate(table.columns) if column.name not in picture.parts]
    rows = []
    for number, row in enumerate(table.rows):
        shares = sorted(((parts[part][number] or 0.0, part) for part in parts), reverse=True)
        text = ", ".join(f"{part} {share:.0f} %" for share, part in shares if share >= _SMALL)
        cells = [WrittenCell(written(row[i], table.columns[i])) for i in kept]
        rows.append((*cells, WrittenCell(text)))
    return WrittenTable((*(table.columns[i].title for i in kept), "share of time"), tuple(rows))


def _table(heads: Sequence[str], block: Sequence[int], numbers: set[int]) -> RichTable:
    shown = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for i in block:
        align: Literal["left", "right"] = "right" if i in numbers else "left"
        shown.add_column(heads[i], justify=align, no_wrap=i == 0 or i in numbers, overflow="fold")
    return shown


def _bars(values: Sequence[float | None], longest: int) -> list[str]:
    most = max((abs(v) for v in values if v is not None), default=0.0) or 1.0
    return ["" if v is None else "█" * max(1, round(longest * abs(v) / most)) for v in values]
