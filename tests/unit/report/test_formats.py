"""Every format says the same, and obeys nothing that a report holds."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from wfbench.report.document import (
    Bars,
    Check,
    Exhibit,
    Report,
    Section,
    Table,
    columns,
    count_outcomes,
)
from wfbench.report.formats.choosing import as_data
from wfbench.report.formats.html import render_html
from wfbench.report.formats.junit import render_junit
from wfbench.report.formats.markdown import render_markdown
from wfbench.report.formats.terminal import show_report, show_section
from wfbench.report.formats.tidy_csv import render_csv
from wfbench.report.written import written

TAGS = {
    *("html", "head", "meta", "title", "link", "style", "body", "header", "main", "footer"),
    *("section", "article", "h1", "h2", "h3", "p", "span", "a", "ul", "li", "strong", "dl", "div"),
    *("dt", "dd", "figure", "figcaption", "details", "summary", "table", "thead", "tbody", "tr"),
    *("th", "td", "code", "svg", "rect", "line", "path", "circle", "text"),
}
VOID = {"meta", "link"}


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.cells: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def _numbers(report: Report) -> list[float]:
    return [
        value
        for section in report.sections
        for exhibit in section.exhibits
        for row in exhibit.table.rows
        for value in row
        if isinstance(value, float)
    ]


def test_a_page_holds_hostile_strings_as_text_and_nothing_else(hostile: Report) -> None:
    page = Page(render_html(hostile))
    assert page.open == []
    assert page.tags <= TAGS
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = {value for name, value in page.attributes if name in {"href", "src", "xlink:href"}}
    assert all(re.fullmatch(r"#s\d+|data:,", link) for link in links)
    text = "".join(page.texts)
    for section in hostile.sections:
        assert section.headline.says.replace("\x00", "\ufffd") in text.replace("\x00", "\ufffd")
    assert "{{ 7 * 7 }}" in text


def test_a_page_forbids_scripts_and_requests(hostile: Report) -> None:
    page = Page(render_html(hostile))
    [policy] = [value for name, value in page.attributes if value.startswith("default-src")]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "@import" not in "".join(page.texts)
    style = render_html(hostile).partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style


def test_every_picture_is_drawn_for_desktop_and_phone_with_data_and_command(
    harmless: Report,
) -> None:
    text = render_html(harmless)
    drawn = sum(e.picture is not None for s in harmless.sections for e in s.exhibits)
    assert text.count('class="picture wide"') == drawn
    assert text.count('class="picture narrow"') == drawn
    assert text.count("<svg") == 2 * drawn
    assert text.count('<p class="command">') == len(harmless.sections[0].exhibits)
    assert text.count("<table>") == len(harmless.sections[0].exhibits)
    assert "nan" not in text.lower().replace("nano", "")


def test_formats_agree_about_every_number(harmless: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(harmless))))
    values = [float(row["value"]) for row in rows if re.fullmatch(r"-?\d+\.\d+", row["value"])]
    assert values == _numbers(harmless)
    cells = Page(render_html(harmless)).cells
    markdown = render_markdown(harmless)
    for exhibit in harmless.sections[0].exhibits[:7]:
        for row in exhibit.table.rows:
            texts = [
                written(value, column)
                for column, value in zip(exhibit.table.columns, row, strict=True)
            ]
            assert f"| {' | '.join(texts)} |" in markdown
            assert any(cells[i : i + len(texts)] == texts for i in range(len(cells)))


def test_formats_agree_about_every_check(hostile: Report) -> None:
    checks = [check for section in hostile.sections for check in section.cases]
    counted = count_outcomes(checks)
    root = ET.fromstring(render_junit(hostile))  # noqa: S314 - our own
    assert int(root.get("tests", "")) == len(checks) == len(root.findall(".//testcase"))
    assert int(root.get("failures", "")) == counted["bad"] == len(root.findall(".//failure"))
    assert int(root.get("skipped", "")) == counted["open"] == len(root.findall(".//skipped"))
    rows = csv.DictReader(io.StringIO(render_csv(hostile)))
    outcomes = [row["value"] for row in rows if row["column"] == "outcome"]
    headlines = [(section.headline, *section.checks) for section in hostile.sections]
    assert [check.outcome for checks in headlines for check in checks] == outcomes
    page = render_html(hostile)
    listed = page.count('<span class="badge bad">failed</span> <strong>')
    assert listed == 2 * counted["bad"]


@pytest.mark.parametrize("number", range(7))
def test_markdown_holds_no_markup_but_ours(hostile: Report, number: int) -> None:
    one = Report(hostile.title, "", "", (hostile.sections[number],))
    text = render_markdown(one)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("made by `"))
    tags = set(re.findall(r"<[^>]*>", prose))
    assert tags == {"<details>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>"}
    assert "@everyone" not in prose
    assert "http://" not in prose
    assert not re.search(r"(?<!\\)\]\(", prose)
    assert len([line for line in text.splitlines() if line.startswith("#")]) == 1
    rows = [line for line in prose.splitlines() if line.startswith("| ") and "none |" in line]
    assert len(rows) == len(one.sections[0].exhibits)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {8}


def test_a_comment_fits_a_comment(harmless: Report) -> None:
    [one] = harmless.sections
    many = Report("many", "now", "1", (one,) * 30)
    assert len(render_markdown(many)) < 65_536
    assert render_markdown(many).count("### plain") == 30


@pytest.mark.parametrize(("rows", "fewer"), [(25, 5), (5, 0)])
def test_a_comment_has_the_rows_that_it_has_room_for(rows: int, fewer: int) -> None:
    def shown(note: int) -> str:
        exhibit = Exhibit("", "", Table(columns("a", "b"), (("row", wide * "b"),) * 40))
        section = Section(
            "One", "kind", Check("", "good", ""), exhibits=(exhibit,), notes=(note * "a",)
        )
        return render_markdown(Report("r", "", "", (section,)))

    wide = 50_000 // rows
    full = shown(1)
    assert full.count("| row |") == rows
    room = 60_000 - len(full)
    assert len(shown(1 + room)) == 60_000
    assert shown(2 + room).count("| row |") == fewer


@pytest.mark.parametrize(("checks", "more"), [(25, 0), (26, 1)])
def test_a_comment_names_25_checks_that_did_not_pass(checks: int, more: int) -> None:
    bad = tuple(Check(f"name {place}", "bad", "") for place in range(checks))
    section = Section("One", "kind", Check("", "bad", ""), bad)
    lines = render_markdown(Report("r", "", "", (section,))).splitlines()
    assert sum(line.startswith("- **failed** name") for line in lines) == 25
    assert [line for line in lines if line.startswith("- and")] == ["- and 1 more"] * more


@pytest.mark.parametrize(
    ("command", "code"),
    [("a  b", "`a b`"), ("a `b`", "`` a `b` ``"), ("``a`` `b`", "``` ``a`` `b` ```")],
)
def test_a_command_is_fenced_by_one_backtick_more_than_it_has(command: str, code: str) -> None:
    exhibit = Exhibit("", "", Table(columns("a"), ((1,),)), command)
    section = Section("One", "kind", Check("", "good", ""), exhibits=(exhibit,))
    assert f"made by {code}" in render_markdown(Report("r", "", "", (section,))).splitlines()


def test_no_spreadsheet_takes_a_string_for_a_formula(hostile: Report) -> None:
    for row in csv.reader(io.StringIO(render_csv(hostile))):
        for cell in row:
            if cell[:1] in "=+-@\t" and cell:
                float(cell)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_names_and_numbers_stay_whole_in_a_narrow_terminal(width: int) -> None:
    names = [f"number {place}" for place in range(12)]
    heads = columns("order", *(f"{name} .1 ±" for name in names), "why")
    row = ["D>E>S>H>U", *([-1234.5, -1300.0, -1200.0] * len(names)), "a long reason " * 5]
    exhibit = Exhibit("What?", "", Table(heads, (tuple(row),)), "")
    out = io.StringIO()
    section = Section("One", "kind", Check("result", "open", "so"), exhibits=(exhibit,))
    show_section(section, Console(file=out, width=width))
    text = out.getvalue()
    assert text.startswith("undecided One: so")
    assert text.count("-1,234.5 (-1,300.0 to -1,200.0)") == len(names)
    assert all(name in text for name in names)
    assert text.count("D>E>S>H>U") >= 12 * 33 // width
    assert text.count("reason") == 5
    assert max(map(len, text.splitlines())) <= width


def test_bars_take_no_room_from_text_in_a_narrow_terminal() -> None:
    heads = columns("collector", "group", *(f"number {place}" for place in range(6)))
    row = ("sequential", "4 environments", *map(float, range(1000, 1006)))
    for width in range(50, 140, 5):
        exhibit = Exhibit("", "", Table(heads, (row,)), "", Bars("collector", "number 0"))
        out = io.StringIO()
        section = Section("One", "kind", Check("result", "good", "so"), exhibits=(exhibit,))
        show_section(section, Console(file=out, width=width))
        assert "4 environments" in out.getvalue()
        assert max(map(len, out.getvalue().splitlines())) <= width


def test_what_could_not_be_measured_is_an_error_and_not_a_failure() -> None:
    checks = (Check("a", "bad", "slower"), Check("b", "bad", "died", error=True))
    section = Section("One", "check", Check("result", "bad", "so"), checks)
    root = ET.fromstring(render_junit(Report("r", "", "", (section,))))  # noqa: S314 - our own
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "1")
    assert root.find(".//error").get("message") == "died"  # type: ignore[union-attr]


def test_columns_are_read_from_their_titles() -> None:
    found = columns("order", "rate (1/s) .1 ±", "times first ±", "step (ms)", "p .2")
    assert [column.title for column in found] == [
        *("order", "rate (1/s)", "low (1/s)", "high (1/s)"),
        *("times first", "times first, low", "times first, high", "step (ms)", "p"),
    ]
    assert [column.digits for column in found] == [None, 1, 1, 1, None, None, None, None, 2]


def test_a_terminal_is_told_nothing_to_obey(hostile: Report) -> None:
    out = io.StringIO()
    show_report(hostile, Console(file=out, width=120, highlight=False, markup=False))
    assert not {c for c in out.getvalue() if not c.isprintable()} - {"\n"}
    assert "failed" in out.getvalue()


def test_reporters_get_strict_json_values(harmless: Report) -> None:
    import json

    data = as_data(harmless)
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["schema"] == "wfbench/report/1"
    pictures = [e["picture"] for e in data["sections"][0]["exhibits"]]
    kinds = [None if picture is None else picture["kind"] for picture in pictures]
    assert kinds == ["bars", "shares", "dots", "curves", "timeline", "spread", "heat", "heat", None]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (True, "yes"),
        (12345, "12,345"),
        (0.0, "0"),
        (1234.5, "1,234"),
        (0.1234, "0.123"),
    ],
)
def test_numbers_are_written_as_people_read_them(value: float | None, shown: str) -> None:
    assert written(value) == shown
