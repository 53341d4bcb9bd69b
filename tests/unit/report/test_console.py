"""What a narrow terminal does to a table."""

from __future__ import annotations

import io

from rich.console import Console

from wfbench.report.console import plain_table


def test_what_a_row_is_about_stays_whole_where_it_is_narrow() -> None:
    table = plain_table("order", "what", "why")
    table.add_row("D>E>S>H>U", "a long explanation of it", "and another that is as long")
    out = io.StringIO()
    Console(file=out, width=40).print(table)
    assert "D>E>S>H>U" in out.getvalue()
    for word in ("explanation", "another"):
        assert word in out.getvalue()
