"""Markdown for a pull-request comment: verdicts first, tables folded away, nothing interpreted."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from wfbench.report.document import OUTCOME_NAMES, Check, Exhibit, Report, Section, Table
from wfbench.report.written import written

_ROWS = 25
"""Rows of a table that a comment shows; the others are in the files."""
_LONGEST = 60_000
"""Characters; the usual limit of a comment is 65,536."""
_SPECIAL = re.compile(r"([\\`*_\[\]#|~])")


def render_markdown(report: Report) -> str:
    """The report as Markdown, with shorter tables or none where a comment could not hold them."""
    for rows in (_ROWS, 5, 0):
        text = _rendered(report, rows)
        if len(text) <= _LONGEST:
            break
    return text


def _rendered(report: Report, rows: int) -> str:
    lines = [f"## wfbench: {plain(report.title)}", "", "| | what | result |", "|---|---|---|"]
    for section in report.sections:
        said = section.headline
        lines.append(f"| {_mark(said)} | {plain(section.title)} | {plain(said.says)} |")
    for section in report.sections:
        lines += ["", *_section(section, rows)]
    lines += ["", f"<sub>wfbench {plain(report.version)}, {plain(report.created)}</sub>"]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """A text that Markdown shows as it is: no markup, no link, no mention, one line."""
    one_line = " ".join(text.split())
    escaped = _SPECIAL.sub(r"\\\1", html.escape(one_line, quote=False))
    for link in ("@", "://", "www."):
        escaped = escaped.replace(link, "".join(f"&#{ord(c)};" for c in link))
    return escaped


def _mark(check: Check) -> str:
    return f"**{OUTCOME_NAMES[check.outcome]}**"


def _section(section: Section, rows: int) -> Iterator[str]:
    yield f"### {plain(section.title)}"
    remarkable = [check for check in section.checks if check.outcome != "good"]
    good = len(section.checks) - len(remarkable)
    if section.checks:
        yield ""
        yield f"{good} of {len(section.checks)} checks ok"
        yield ""
        for check in remarkable[:rows]:
            yield f"- {_mark(check)} {plain(check.name)}: {plain(check.says)}"
        if len(remarkable) > rows:
            yield f"- and {len(remarkable) - rows} more"
    if section.figures:
        yield ""
        yield " · ".join(f"{plain(f.name)} **{plain(f.value)}**" for f in section.figures)
    for note in section.notes:
        yield ""
        yield f"> {plain(note)}"
    for exhibit in section.exhibits if rows else ():
        yield from _exhibit(exhibit, rows)
    if section.facts and rows:
        yield from _folded("Conditions", _facts(section))


def _facts(section: Section) -> Iterator[str]:
    yield from ("| | |", "|---|---|")
    for fact in section.facts:
        yield f"| {plain(fact.name)} | {plain(fact.value)} |"


def _exhibit(exhibit: Exhibit, rows: int) -> Iterator[str]:
    body = [plain(exhibit.reading), "", *_table(exhibit.table, rows), "", _code(exhibit.command)]
    yield from _folded(exhibit.title, iter(body))


def _folded(title: str, body: Iterator[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{plain(title)}</summary>", "")
    yield from body
    yield from ("", "</details>")


def _table(table: Table, rows: int) -> Iterator[str]:
    yield f"| {' | '.join(plain(column.title) for column in table.columns)} |"
    yield f"|{'|'.join('---' for _ in table.columns)}|"
    for row in table.rows[:rows]:
        cells = (written(v, c) for v, c in zip(row, table.columns, strict=True))
        yield f"| {' | '.join(map(plain, cells))} |"
    if len(table.rows) > rows:
        yield ""
        yield f"and {len(table.rows) - rows} more rows"


def _code(command: str) -> str:
    """A command as code, whatever backticks it has in it."""
    one_line = " ".join(command.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", one_line)), default=0))
    return f"{fence} {one_line} {fence}" if "`" in one_line else f"`{one_line}`"
