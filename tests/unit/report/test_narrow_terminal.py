"""Names and numbers are whole, however narrow the terminal is."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from wfbench.report import make_report
from wfbench.report.document import (
    Bars,
    Check,
    Curves,
    Exhibit,
    Fact,
    Picture,
    Report,
    Section,
    Table,
    columns,
)
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


def plain(name: str, numbers: int = 3, picture: Bars | None = None) -> Section:
    """Return a table of a name and numbers of three digits."""
    heads = ["name", *(f"n{place}" for place in range(numbers))]
    rows = ((name, *(100 * (place + 1) for place in range(numbers))), ("b", *[0] * numbers))
    exhibit = Exhibit("", "", Table(columns(*heads), rows), "", picture)
    return Section("One", "kind", Check("result", "good", "so"), exhibits=(exhibit,))


@pytest.mark.parametrize(
    ("name", "width", "blocks"),
    [
        ("four", 19, 1),  # 4 and three times 2 + 3
        ("four", 18, 2),
        ("four", 14, 2),
        ("four", 13, 3),
        ("four", 9, 3),
        ("four", 8, 0),  # not even one column fits beside the names
        ("n" * 30, 45, 1),  # a name is never folded, other texts may be
        ("n" * 30, 44, 2),
        ("n" * 30, 35, 3),
        ("n" * 30, 34, 0),
    ],
)
def test_as_many_columns_as_fit_stand_side_by_side(name: str, width: int, blocks: int) -> None:
    lines = shown(plain(name), width).splitlines()
    assert sum(line.startswith("name") for line in lines) == blocks
    assert sum(line.startswith("  n") for line in lines) == (0 if blocks else 6)
    assert all(sum(str(number) in line for line in lines) == 1 for number in (100, 200, 300))


def test_a_text_that_does_not_fit_is_folded_beside_the_name() -> None:
    table = Table(columns("name", "text", "n"), (("four", "so many words of a long text", 100),))
    exhibit = Exhibit("", "", table, "", None)
    one = Section("One", "kind", Check("result", "good", "so"), exhibits=(exhibit,))
    lines = shown(one, 15).splitlines()
    assert [line.split() for line in lines if line.startswith("name")] == [
        ["name", "text"],
        ["name", "n"],
    ]


def test_names_are_whole_where_a_text_beside_them_is_folded() -> None:
    names = ("a name of so many words that it is wider", "another name")
    rows = tuple((name, "so many words of a text " * 3, 1_000_000) for name in names)
    exhibit = Exhibit("", "", Table(columns("name", "text", "n"), rows))
    one = Section("One", "kind", Check("", "good", ""), exhibits=(exhibit,))
    lines = shown(one, 40 + 2 + 24 + 2 + 9).splitlines()[2:]
    assert [line[:40].rstrip() for line in lines if line[:40].strip()] == [*names]
    assert len(lines) == 2 * 3
    assert [line.split()[-1] for line in lines if "," in line] == ["1,000,000"] * 2


@pytest.mark.parametrize(("width", "bar"), [(20, 0), (21, 10), (30, 19), (31, 20), (50, 20)])
def test_bars_fill_the_room_that_is_left(width: int, bar: int) -> None:
    lines = shown(plain("four", 1, Bars("name", "n0")), width).splitlines()
    longest, shortest = (
        next(line.count("█") for line in lines if line.startswith(name)) for name in ("four", "b ")
    )
    assert (longest, shortest) == (bar, min(bar, 1))


@pytest.mark.parametrize(
    ("picture", "limit"), [(Bars("name", "n"), 40), (Curves("n", "n", "name"), 12), (None, 99)]
)
@pytest.mark.parametrize("more", [0, 1])
def test_data_made_to_be_drawn_is_not_printed_whole(
    picture: Picture | None, limit: int, more: int
) -> None:
    rows = tuple((f"row{place}", place) for place in range(limit + more))
    exhibit = Exhibit("", "", Table(columns("name", "n"), rows), "", picture)
    section = Section("One", "kind", Check("result", "good", "so"), exhibits=(exhibit,))
    lines = shown(section, 80).splitlines()
    cut = more if picture is not None else 0
    assert sum(line.startswith("row") for line in lines) == limit + more - cut
    assert sum(line.startswith("and 1 more rows") for line in lines) == cut


@pytest.mark.parametrize(("mark", "right"), [("-", True), ("no", False)])
def test_numbers_stand_right_with_a_mark_among_them_but_not_with_a_word(
    mark: str, *, right: bool
) -> None:
    exhibit = Exhibit("How fast?", "", table("name | speed", [("a", 1234.0), ("b", mark)]))
    section = Section("Bench", "bench", Check("result", "good", "fine"), exhibits=(exhibit,))
    [row] = [line for line in shown(section, 60).splitlines() if line.startswith("b ")]
    [number] = [line for line in shown(section, 60).splitlines() if line.startswith("a ")]
    assert (len(row.rstrip()) == len(number.rstrip())) is right


def test_sentences_stay_in_one_line_each() -> None:
    def said(what: str) -> str:
        return f"{what} {'and so on ' * 6}end"

    def one(title: str) -> Section:
        return Section(
            *(title, "kind", Check("result", "good", said("found"))),
            checks=(Check("slow", "bad", said("checked")), Check("fine", "good", "unsaid")),
            figures=(Fact("rate", "5"), Fact(*said("figure").split(" ", 1))),
            exhibits=(Exhibit("", said("read"), Table(columns("n"), ((1,),)), said("made")),),
            notes=(said("noted"),),
            conclusion=(said("found"), said("concluded")),
            afterwards=(said("next"),),
        )

    def lines_of(title: str) -> list[str]:
        return [
            f"ok        {title}: {said('found')}",
            f"rate 5, {said('figure')}",
            *("n", "1", said("read"), ""),
            f"failed    slow: {said('checked')}",
            f"note: {said('noted')}",
            f"made by: {said('made')}",
            *("", "Conclusion", f"  {said('concluded')}", "", said("next")),
        ]

    out = io.StringIO()
    report = Report("All", "now", "1", (one("One"), one("Two")))
    show_report(report, Console(file=out, width=30, emoji=False))
    heads = [f"ok        {title}: {said('found')}" for title in ("One", "Two")]
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        *("All", *heads, "", *lines_of("One"), "", *lines_of("Two")),
    ]


def test_what_fits_nowhere_has_a_line_of_its_own_and_is_whole() -> None:
    heads = Table(columns("name", "rate (a) (of four)"), (("a name", 100), ("another", 2)))
    prose = Table(columns("name", "text"), (("a name", "words " * 9),))
    stacked = ["a name", "  rate (a) (of four): 100", "another", "  rate (a) (of four): 2"]
    for data, width, lines in (
        (heads, 20, stacked),  # 7 for the names, 2, and 13 for "(a) (of four)"
        (heads, 21, stacked),
        (heads, 22, ["                  rate", "name     (a) (of four)"]),
        (prose, 6 + 2 + 23, ["a name", "  text: " + "words " * 8 + "words"]),
        (prose, 6 + 2 + 24, ["name    text", "a name  words words words words"]),
    ):
        one = Section("One", "kind", Check("", "good", ""), exhibits=(Exhibit("", "", data),))
        found = [line.rstrip() for line in shown(one, width).splitlines()]
        assert found[1 : 1 + len(lines)] == lines


def test_two_columns_name_a_row_where_one_does_not() -> None:
    data = Table(columns("name", "group", "n"), (("four", "50 envs", 100), ("four", "9 envs", 7)))
    one = Section("One", "kind", Check("", "good", ""), exhibits=(Exhibit("", "", data),))
    stacked = ["four, 50 envs", "  n: 100", "four, 9 envs", "  n: 7"]
    table = ["name  group      n", "four  50 envs  100", "four  9 envs     7"]
    for width, lines in ((17, stacked), (18, table)):  # 4, 2, 7, 2 and 3
        assert [line.rstrip() for line in shown(one, width).splitlines()][1:] == lines


def test_a_title_has_its_unit_below_where_the_table_is_wide() -> None:
    data = Table(columns("name", "rate (1/s) (mean)"), (("four", 100),))
    one = Section("One", "kind", Check("", "good", ""), exhibits=(Exhibit("", "", data),))
    for width, lines in (
        (25, ["name  rate (1/s) (mean)", "four                100"]),  # 4, 17 and twice 2
        (24, ["              rate", "name  (1/s) (mean)", "four           100"]),
    ):
        assert [line.rstrip() for line in shown(one, width).splitlines()][1:] == lines
