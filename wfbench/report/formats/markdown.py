"""Markdown for a pull-request comment: verdict first, further tables folded, all text escaped."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable, Iterator

from wfbench.report.document import OUTCOME_NAMES, Check, Exhibit, Report, Section
from wfbench.report.written import WrittenTable, written_table

_ROWS = 25
"""Rows of a table that a comment shows; the others are in the files."""
_LONGEST = 60_000
"""Characters; the usual limit of a comment is 65,536."""
_SPECIAL = re.compile(r"([\\`*_\[\]#|~])")


def render_markdown(report: Report, longest: int = _LONGEST) -> str:
    """Return the report as Markdown, with shorter tables or none where they would not fit."""
    for rows in (_ROWS, 5, 0):
        text = _rendered(report, rows)
        if len(text) <= longest:
            break
    return text


def whole_markdown(report: Report) -> str:
    """Return the report as Markdown with every row, for a file."""
    return _rendered(report, sys.maxsize)


def _rendered(report: Report, rows: int) -> str:
    lines = [f"## wfbench: {escape(report.title)}", ""]
    if len(report.sections) == 1:
        [section] = report.sections
        lines += [f"{_mark(section.headline)}: {escape(section.headline.says)}"]
        lines += _section(section, rows)
    else:
        lines += ["| | what | result |", "|---|---|---|"]
        for section in report.sections:
            said = section.headline
            lines.append(f"| {_mark(said)} | {escape(section.title)} | {escape(said.says)} |")
        for section in report.sections:
            lines += ["", f"### {escape(section.title)}", *_section(section, rows)]
    lines += ["", f"<sub>wfbench {escape(report.version)}, {escape(report.created)}</sub>"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return a text that Markdown shows as it is: no markup, link or mention, on one line."""
    one_line = " ".join(text.split())
    escaped = _SPECIAL.sub(r"\\\1", html.escape(one_line, quote=False))
    for link in ("@", "://", "www."):
        escaped = escaped.replace(link, "".join(f"&#{ord(c)};" for c in link))
    return escaped


def _mark(check: Check) -> str:
    return f"**{OUTCOME_NAMES[check.outcome]}**"


def _section(section: Section, rows: int) -> Iterator[str]:
    if section.concluding:
        yield from ("", *(f"- {escape(said)}" for said in section.concluding))
    if section.figures:
        yield ""
        yield " · ".join(f"{escape(f.name)} **{escape(f.value)}**" for f in section.figures)
    for place, exhibit in enumerate(section.exhibits if rows else ()):
        yield from _exhibit(exhibit, rows, folded=place > 0)
    remarkable = section.remarkable
    if section.checks:
        good = len(section.checks) - len(remarkable)
        yield from ("", f"{good} of {len(section.checks)} checks ok", "")
        for check in remarkable[:rows]:
            yield f"- {_mark(check)} {escape(check.name)}: {escape(check.says)}"
        if len(remarkable) > rows:
            yield f"- and {len(remarkable) - rows} more"
    for note in section.notes:
        yield from ("", f"> {escape(note)}")
    if section.facts and rows:
        cells = [f"| {escape(fact.name)} | {escape(fact.value)} |" for fact in section.facts]
        yield from _folded("Conditions", ["| | |", "|---|---|", *cells])


def _exhibit(exhibit: Exhibit, rows: int, *, folded: bool) -> Iterator[str]:
    body = [*_table(written_table(exhibit), rows)]
    body += ["", escape(exhibit.reading)] if exhibit.reading else []
    body += ["", f"made by {_code(exhibit.command)}"] if exhibit.command else []
    if folded:
        yield from _folded(exhibit.title, body)
    else:
        yield from ("", f"**{escape(exhibit.title)}**") if exhibit.title else ()
        yield from ("", *body)


def _folded(title: str, body: Iterable[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{escape(title)}</summary>", "")
    yield from body
    yield from ("", "</details>")


def _table(table: WrittenTable, rows: int) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, table.heads))} |"
    yield f"|{'---|' * len(table.heads)}"
    for row in table.rows[:rows]:
        yield f"| {' | '.join(escape(cell.text) for cell in row)} |"
    if len(table.rows) > rows:
        yield from ("", f"and {len(table.rows) - rows} more rows")


def _code(command: str) -> str:
    """Return a command as code, whatever backticks it has in it."""
    one_line = " ".join(command.split())
    inside = re.findall("`+", one_line)
    if not inside:
        return f"`{one_line}`"
    fence = "`" * (1 + max(map(len, inside)))
    return f"{fence} {one_line} {fence}"
