"""Claims and what was found, as files: JSON with every sample, and Markdown for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from wfbench.contract import FindingTable
from wfbench.reproduce.model import ClaimResult, Reproduction, write_reproduction
from wfbench.store.files import write_whole

from .reproduction import about, busy, cell, number_of, verdict_of, why

JSON_FILE, MARKDOWN_FILE = "reproduction.json", "reproduction.md"


def write_report(folder: Path, found: Reproduction) -> list[Path]:
    """Write both files; returns their paths."""
    data, text = folder / JSON_FILE, folder / MARKDOWN_FILE
    write_reproduction(data, found)
    write_whole(text, markdown(found).encode())
    return [data, text]


def markdown(found: Reproduction) -> str:
    """The whole report: it holds nothing that is not in the JSON file."""
    return "\n".join(_lines(found)) + "\n"


def claims_table(found: Reproduction) -> list[str]:
    """The table of claims alone."""
    rows = [
        (
            number_of(claim),
            claim.summary,
            f"{claim.documented} ({claim.conditions}; {claim.source})"
            if claim.source
            else f"{claim.documented} ({claim.conditions})",
            "" if claim.finding is None else claim.finding.measured,
            f"**{verdict_of(claim)}**",
        )
        for claim in found.claims
    ]
    return _table(("#", "claim", "documented", "measured here", "verdict"), rows)


def _lines(found: Reproduction) -> Iterator[str]:
    yield "# The documented claims, measured"
    yield ""
    yield f"Made by `{found.command}`: {about(found)}."
    yield (
        "How each claim is tested is told in `docs/reproduction.md`; every sample is in "
        f"`{JSON_FILE}`. A figure in brackets is a 95 % interval over rounds."
    )
    if found.quick:
        yield ""
        yield "This is a quick run: smaller than the documented conditions, and less certain."
    warning = busy(found)
    if warning is not None:
        yield ""
        yield warning
    yield ""
    yield from claims_table(found)
    for claim in found.claims:
        yield from _section(claim)


def _section(claim: ClaimResult) -> Iterator[str]:
    title = " ".join(part for part in (number_of(claim), claim.name) if part)
    yield ""
    yield f"## {title}: {verdict_of(claim)}"
    yield ""
    yield why(claim)
    if claim.finding is None:
        return
    if claim.finding.scaled:
        yield ""
        yield f"Scaled: {'; '.join(claim.finding.scaled)}."
    for figures in claim.finding.tables:
        yield ""
        yield from _figures(figures)
    numbers = ", ".join(str(number) for number in claim.measurements)
    if numbers:
        yield ""
        yield f"Measurements: {numbers} ({claim.seconds:.0f} s)."


def _figures(figures: FindingTable) -> Iterator[str]:
    yield f"{figures.title}:"
    yield ""
    yield from _table(figures.columns, [[cell(value) for value in row] for row in figures.rows])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [_row(columns), "|" + "---|" * len(columns)]
    return lines + [_row(row) for row in rows]


def _row(cells: Sequence[str]) -> str:
    escaped = (text.replace("|", "\\|").replace("\n", " ") for text in cells)
    return f"| {' | '.join(escaped)} |"
