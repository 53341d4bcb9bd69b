"""Names and numbers are whole, however narrow the terminal is."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from wfbench.report import make_report
from wfbench.report.document import Check, Exhibit, Section
from wfbench.report.formats.terminal import show_report
from wfbench.report.sections.bench import saved_bench_section
from wfbench.report.sections.common import table
from wfbench.report.written import written_table

DATA = Path(__file__).parents[2] / "formats" / "data"
LONG = "a-collector-of-a-plugin:workers=16,start_method=forkserver,payload=true-state"


def shown(section: Section, width: int) -> str:
    out = io.StringIO()
    show_report(make_report(section), Console(file=out, width=width, emoji=False))
    return out.getvalue()


def made(*names: str) -> Section:
    heads = "collector | group | rate (transitions/s) .0 ± | CPU (µs/transition) | memory (MB)"
    rows = [
        (name, f"{n} environments", (907_612.0, 800_001.0, 1_000_123.0), 42.25, 1234.5)
        for n in (50, 200)
        for name in names
    ]
    exhibit = Exhibit("How fast?", "", table(heads, rows))
    return Section("Bench", "bench", Check("result", "good", "fine"), exhibits=(exhibit,))


@pytest.mark.parametrize("width", [80, 60, 40])
@pytest.mark.parametrize(
    "section",
    [made("vector", "shm"), made(LONG, "shm"), saved_bench_section(DATA / "bench")],
    ids=["short", "long", "bench"],
)
def test_no_name_and_no_number_is_cut(section: Section, width: int) -> None:
    text = shown(section, width)
    assert "…" not in text
    first = section.exhibits[0]
    for row in written_table(first).rows:
        for cell in row:
            assert cell.text in text


def test_rows_of_one_name_stay_apart_in_every_block() -> None:
    lines = [line for line in shown(made("vector", "shm"), 60).splitlines() if "vector" in line]
    assert all("50 env" in line or "200 env" in line for line in lines)
    assert len(lines) > 2
