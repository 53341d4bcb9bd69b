"""Pictures say what their tables say: lengths, places and colours are proportional."""

from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup

from wfbench.report.document import (
    Bars,
    Column,
    Curves,
    Dots,
    Exhibit,
    Heat,
    Panel,
    Shares,
    Table,
    Timeline,
)
from wfbench.report.formats.axes import linear, logarithmic, tick_label
from wfbench.report.formats.grid import colour, ink_on
from wfbench.report.formats.html import NARROW, WIDE, draw
from wfbench.report.formats.svg import legend, shortened, tag, width_of

WIDTHS = [WIDE, NARROW]
numbers = st.floats(-1e9, 1e9, allow_nan=False).map(lambda value: round(value, 3))


def _drawn(table: Table, picture: object, width: float) -> ET.Element:
    exhibit = Exhibit("t", "r", table, "c", picture)  # type: ignore[arg-type]
    drawing = draw(exhibit, width)
    assert drawing is not None
    return ET.fromstring(str(drawing))  # noqa: S314 - our own


def _rects(root: ET.Element, kind: str) -> list[ET.Element]:
    return [rect for rect in root.iter("rect") if rect.get("class", "").split()[0] == kind]


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_begin_at_zero_and_are_as_long_as_their_values(width: float) -> None:
    table = Table((Column("a"), Column("b", "ms")), (("one", 10.0), ("two", 40.0), ("no", None)))
    root = _drawn(table, Bars("a", "b"), width)
    one, two = _rects(root, "c0")
    assert one.get("x") == two.get("x")
    lengths = [float(rect.get("width", "")) for rect in (one, two)]
    assert lengths[1] == pytest.approx(4 * lengths[0], rel=0.01)
    texts = [text.text for text in root.iter("text")]
    assert "b (ms)" in texts
    assert "0" in texts
    assert "not measured" in texts


@pytest.mark.parametrize("width", WIDTHS)
def test_negative_bars_end_at_zero(width: float) -> None:
    table = Table((Column("a"), Column("b")), (("one", -10.0), ("two", -40.0)))
    one, two = _rects(_drawn(table, Bars("a", "b"), width), "c0")
    ends = [float(r.get("x", "")) + float(r.get("width", "")) for r in (one, two)]
    assert ends[0] == pytest.approx(ends[1], abs=0.2)


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_of_factors_begin_at_one_and_are_as_long_as_their_logarithms(width: float) -> None:
    rows = (("ten", 10.0), ("hundred", 100.0), ("tenth", 0.1))
    root = _drawn(Table((Column("a"), Column("b")), rows), Bars("a", "b", log=True), width)
    ten, hundred, tenth = (
        (float(r.get("x", "")), float(r.get("width", ""))) for r in _rects(root, "c0")
    )
    assert ten[0] == hundred[0] == pytest.approx(sum(tenth), abs=0.2)
    assert hundred[1] == pytest.approx(2 * ten[1], abs=0.3)
    assert tenth[1] == pytest.approx(ten[1], abs=0.3)


@pytest.mark.parametrize("width", WIDTHS)
def test_shares_fill_the_whole_bar(width: float) -> None:
    columns = tuple(map(Column, ("a", "x", "y", "z")))
    table = Table(columns, (("one", 70.0, 29.5, 0.5), ("two", 10.0, 90.0, 0.0)))
    root = _drawn(table, Shares("a", ("x", "y", "z")), width)
    parts = [one for one in root.iter("rect") if "part" in one.get("class", "")]
    rows: dict[str, float] = {}
    for one in parts:
        y = one.get("y", "")
        rows[y] = rows.get(y, 0.0) + float(one.get("width", ""))
    assert len(rows) == 2
    assert max(rows.values()) == pytest.approx(min(rows.values()), abs=0.3)
    assert any("other (z)" in (text.text or "") for text in root.iter("text"))


@pytest.mark.parametrize(("values", "cut"), [(9, False), (10, True)])
def test_what_lies_far_below_ten_values_is_cut_off_and_named(*, values: int, cut: bool) -> None:
    rows = tuple((n, "1", True, -500.0 if n == 0 else float(n)) for n in range(values))
    table = Table(tuple(map(Column, ("x", "s", "on", "y"))), rows)
    root = _drawn(table, Timeline("x", "s", "on", (Panel("y"),), "yes", "no"), WIDE)
    texts = [text.text for text in root.iter("text")]
    assert ("cut off: the lowest is -500" in texts) == cut


def test_a_cell_has_the_colour_of_its_value() -> None:
    table = Table(
        (Column("x"), Column("y"), Column("v", digits=1)),
        (("1", "a", 0.0), ("2", "a", 10.0), ("1", "b", None)),
    )
    root = _drawn(table, Heat("x", "y", "v"), WIDE)
    cells = {rect[0].text: rect.get("fill") for rect in root.iter("rect") if len(rect)}
    assert cells["a, 1: 0.0"] == "#440154"
    assert cells["a, 2: 10.0"] == "#fde725"
    assert cells["b, 1: none"] is None


def test_a_single_column_takes_all_the_room() -> None:
    table = Table((Column("x"), Column("y"), Column("v")), (("1", "a", 0.0), ("1", "b", 1.0)))
    root = _drawn(table, Heat("x", "y", "v"), WIDE)
    cells = [rect for rect in root.iter("rect") if len(rect)]
    ends = [float(rect.get("x", "")) + float(rect.get("width", "")) for rect in cells]
    assert ends == pytest.approx([WIDE, WIDE], abs=3.0)


def test_a_big_grid_stays_small_and_has_a_cell_for_every_value() -> None:
    size = 120
    rows = tuple((x, y, float(x * y)) for x in range(size) for y in range(size))
    table = Table((Column("x"), Column("y"), Column("v")), rows)
    exhibit = Exhibit("t", "r", table, "c", Heat("x", "y", "v"))
    drawing = str(draw(exhibit, WIDE))
    assert drawing.count("h1v1h-1z") == size * size
    assert len(drawing) < 400_000


@pytest.mark.parametrize("log", [False, True])
def test_a_line_goes_through_its_points(*, log: bool) -> None:
    rows = (("s", 1.0, 10.0), ("s", 10.0, 100.0), ("s", 100.0, 1000.0))
    table = Table((Column("n"), Column("x"), Column("y")), rows)
    root = _drawn(table, Curves("x", "y", "n", log=log), WIDE)
    places = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in root.iter("circle")]
    first, second, third = places
    steps = second[0] - first[0], third[0] - second[0]
    assert steps[0] == pytest.approx(steps[1] if log else steps[1] / 10, rel=0.02)
    assert first[1] > second[1] > third[1]


@given(values=st.lists(numbers, min_size=1, max_size=20), zero=st.booleans())
@example(values=[500_000_000.001, 500_000_000.002], zero=False)
def test_a_scale_holds_its_values_and_its_ticks_are_inside(
    *, values: list[float], zero: bool
) -> None:
    scale = linear(values, 10.0, 500.0, zero=zero)
    # Ends are whole numbers of steps, so a few float64 roundings away from round numbers.
    slack = 1e-6 * (scale.high - scale.low) + 4 * math.ulp(max(map(abs, values)))
    assert scale.low - slack <= min(values)
    assert max(values) <= scale.high + slack
    if zero:
        assert scale.low <= 0 <= scale.high
    ticks = scale.ticks(5)
    assert 2 <= len(ticks) <= 12
    assert all(10.0 - 1e-6 <= scale(tick) <= 500.0 + 1e-6 for tick in ticks)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)


@pytest.mark.parametrize(("last", "ticks"), [(3, [1, 2, 3]), (16, [5, 10, 15])])
def test_what_is_counted_has_no_ticks_between_whole_numbers(last: int, ticks: list[int]) -> None:
    table = Table(tuple(map(Column, "xys")), ((1, 2.0, "a"), (last, 3.0, "a")))
    root = _drawn(table, Curves("x", "y", "s"), WIDE)
    below = [text.text for text in root.iter("text") if text.get("text-anchor") == "middle"]
    assert below == [*map(str, ticks), "x"]


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20))
def test_a_logarithmic_scale_shows_ratios(values: list[float]) -> None:
    scale = logarithmic(values, 0.0, 100.0)
    assert all(scale.holds(value) for value in values)
    middle = math.sqrt(scale.low * scale.high)
    assert scale(middle) == pytest.approx(50.0, abs=0.1)
    assert all(scale.low <= tick <= scale.high for tick in scale.ticks(5))


@given(st.text(min_size=1, max_size=60), st.floats(20, 300))
def test_a_shortened_text_fits(text: str, limit: float) -> None:
    short = shortened(text, limit)
    assert width_of(short) <= limit or short == "…"
    assert short == text or short.endswith("…")


@pytest.mark.parametrize(("parts", "named"), [(7, 7), (8, 7), (9, 7)])
def test_the_largest_seven_parts_have_colours_and_the_rest_is_one(parts: int, named: int) -> None:
    names = [f"part{place}" for place in range(parts)]
    shares = [100.0 - parts * 8 + 8, *[8.0] * (parts - 1)]
    table = Table(tuple(map(Column, ("a", *names))), (("one", *shares[::-1]),))
    root = _drawn(table, Shares("a", tuple(names)), WIDE)
    texts = [text.text or "" for text in root.iter("text")]
    assert sum(text.startswith("part") for text in texts) == named
    assert f"part{parts - 1}" in texts
    assert sum(text.startswith("other (") for text in texts) == (parts > named)
    kinds = {one.get("class") for one in root.iter("rect") if "part" in one.get("class", "")}
    assert kinds == {f"c{place} part" for place in range(min(parts, 8))}


def test_what_fits_exactly_is_not_cut_further() -> None:
    text = "a text of Many characters"
    for kept in range(1, len(text) - 1):
        short = f"{text[:kept]}…"
        assert shortened(text, width_of(short)) == short
        assert shortened(text, width_of(short) + 0.01) == short
    assert shortened(text, width_of(text)) == text
    assert [shortened(some, 1.0) for some in (text, "ab", "W")] == ["…"] * 3


def test_a_legend_fills_its_rows() -> None:
    def mark(_place: int, x: float, y: float) -> Markup:
        return tag("rect", x=x, y=y)

    def row_of(name: str, width: float) -> tuple[float, str]:
        parts, _ = legend(["first", "second", name], width, 10.0, mark)
        return float(ET.fromstring(str(parts[-2])).get("y", "")), str(parts[-1])  # noqa: S314

    wide = sum(width_of(name) + 10.0 + 22.0 for name in ("first", "second", "third"))
    assert row_of("third", wide)[0] == 14.0
    assert row_of("third", wide - 0.01)[0] == 34.0
    long = "a name that is longer than a whole row"
    y, shown = row_of(long, 200.0)
    assert y == 34.0
    assert f">{shortened(long, 200.0 - 10.0 - 6.0)}<" in shown
    assert legend(["one"], 5.0, 10.0, mark)[1] == 22.0
    [_, whole], _ = legend([long], 10.0 + 6.0 + width_of(long), 10.0, mark)
    assert f">{long}<" in whole


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.0, 10.0], ["0", "2", "4", "6", "8", "10"]),
        ([0.0, 1e4], ["0", "2,000", "4,000", "6,000", "8,000", "10 k"]),
        ([0.0, 5e6], ["0", "1 M", "2 M", "3 M", "4 M", "5 M"]),
        ([0.0, 1.0], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([0.0, 5e-3], ["0", "0.001", "0.002", "0.003", "0.004", "0.005"]),
        ([0.0, 5e-4], ["0", "1.0e-04", "2.0e-04", "3.0e-04", "4.0e-04", "5.0e-04"]),
        ([-4.0, -4.0], ["-6", "-5", "-4", "-3", "-2"]),
        ([0.0, 0.0], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
    ],
)
def test_ticks_are_round_numbers_in_short(values: list[float], ticks: list[str]) -> None:
    assert [tick_label(tick) for tick in linear(values, 0.0, 1.0).ticks(5)] == ticks


def test_one_ratio_lies_in_the_middle_of_its_scale() -> None:
    scale = logarithmic([8.0], 0.0, 100.0)
    assert scale(8.0) == pytest.approx(50.0)
    assert scale.high / scale.low == pytest.approx(4 * 1.1**2)


def test_a_share_is_written_where_it_has_two_pixels_on_each_side() -> None:
    shares = [step / 10 for step in range(40, 240)]
    rows = tuple((f"row {share}", share, 100.0 - share) for share in shares)
    table = Table(tuple(map(Column, ("a", "x", "y"))), rows)
    root = _drawn(table, Shares("a", ("x", "y")), NARROW)
    bars = [one for one in root.iter("rect") if one.get("class") == "c0 part"]
    texts = [one for one in root.iter("text") if one.get("class") == "on0"]
    written = {float(one.get("y", "")) - 13.0 for one in texts}
    room = {float(bar.get("y", "")): float(bar.get("width", "")) for bar in bars}
    needed = [width_of(f"{share:.0f} %") + 4.0 for share in shares]
    assert 0 < len(written) < len(bars) == len(shares)
    for (y, wide), least in zip(room.items(), needed, strict=True):
        if abs(wide - least) > 0.1:  # lengths are written with one digit
            assert (y in written) == (wide > least)


def test_a_share_of_exactly_its_room_is_not_written() -> None:
    assert width_of("35 %") + 4 == 34.72
    width = 16.0 + 100.0 + 14.0  # a pixel per percent between the empty name and the end
    for share, shown in ((34.72, []), (34.73, ["35 %"])):
        table = Table(tuple(map(Column, "axy")), (("", share, 0.0),))
        root = _drawn(table, Shares("a", ("x", "y")), width)
        assert [one.text for one in root.iter("text") if one.get("class") == "on0"] == shown


@pytest.mark.parametrize(("share", "names"), [(1.0, ["x", "y"]), (0.99, ["x", "other (y)"])])
def test_a_part_has_a_name_from_one_percent_on(share: float, names: list[str]) -> None:
    table = Table(tuple(map(Column, "axy")), (("a row", 100 - share, share),))
    root = _drawn(table, Shares("a", ("x", "y")), WIDE)
    found = [one.text for one in root.iter("text") if one.get("class") == "label"]
    assert found == [*names, "a row"]


def test_the_scale_of_colours_is_viridis() -> None:
    published = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725"
    stops = [tuple(bytes.fromhex(one)) for one in published.split()]
    assert [colour(place / 9) for place in range(10)] == stops
    assert colour(0.5 / 9) == (0x46, 0x14, 0x66)  # half-way, rounded to even
    assert [colour(share) for share in (-1.0, 2.0)] == [stops[0], stops[-1]]


@pytest.mark.parametrize(
    ("width", "numbers", "counts"), [(340, 7, 7), (339, 7, 0), (260, 7, 0), (259, 0, 0)]
)
def test_cells_hold_as_much_as_they_have_room_for(width: float, numbers: int, counts: int) -> None:
    """Seven columns share what a long name leaves, which is 0.7 of the width."""
    rows = tuple((place, "name " * 20, float(place), 5) for place in range(7))
    table = Table(tuple(map(Column, ("x", "y", "v", "n"))), rows)
    kinds = [one.get("class") for one in _drawn(table, Heat("x", "y", "v", "n"), width).iter()]
    assert (kinds.count("cell"), kinds.count("count")) == (numbers, counts)


def test_names_of_rows_end_before_the_cells_and_begin_inside() -> None:
    names = ("WWWWW", "name " * 20)
    rows = tuple(("1", name, 0.5) for name in names)
    root = _drawn(Table(tuple(map(Column, "xyv")), rows), Heat("x", "y", "v"), 200)
    labels = [one for one in root.iter("text") if one.get("text-anchor") == "end"]
    assert {label.get("x") for label in labels} == {"54"}  # 0.3 of the width, less 6
    assert width_of(names[0]) == 54.0
    shown = [[*label.itertext()] for label in labels]
    assert shown == [[names[0]], [names[1], shortened(names[1], 54.0)]]


@pytest.mark.parametrize(("room", "upright"), [(54, 0), (53, 1)])
def test_names_of_columns_stand_upright_where_they_do_not_fit(room: float, upright: int) -> None:
    table = Table(tuple(map(Column, "xyv")), (("WWWWW", "", 0.5),))  # 54 pixels
    root = _drawn(table, Heat("x", "y", "v"), room + 10)
    assert sum("rotate" in one.get("transform", "") for one in root.iter("text")) == upright


def test_whiskers_lengthen_an_axis_by_part_of_the_range_of_the_dots() -> None:
    rows = (("a", 0.0, -100.0, 3.0), ("b", 10.0, 5.0, 100.0))
    table = Table(tuple(map(Column, ("s", "x", "l", "h"))), rows)
    root = _drawn(table, Dots("s", "x", "l", "h"), WIDE)
    ticks = [one.text for one in root.iter("text") if one.get("class") == "tick"]
    assert ticks == ["-5", "0", "5", "10", "15"]  # at least from -4 to 14


@pytest.mark.parametrize(("room", "shown"), [(66, "0.1234567"), (65, ".1234567")])
def test_a_number_that_does_not_fit_into_its_cell_has_no_zero_in_front(
    room: float, shown: str
) -> None:
    assert width_of("0.1234567") == 66.0
    columns = (Column("x"), Column("y"), Column("v", digits=7))
    root = _drawn(Table(columns, (("1", "", 0.1234567),)), Heat("x", "y", "v"), room + 10)
    assert [one.text for one in root.iter("text") if one.get("class") == "cell"] == [shown]


def test_text_on_every_colour_can_be_read() -> None:
    for step in range(101):
        rgb = colour(step / 100)
        ink = 255 if ink_on(rgb) == "#fff" else 0
        lights = sorted(_luminance(one) for one in (rgb, (ink,) * 3))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5


def test_ink_is_black_or_white_whichever_has_more_contrast() -> None:
    levels = range(0, 256, 15)
    for rgb in itertools.product(levels, levels, levels):
        light = _luminance(rgb) + 0.05
        black, white = light / 0.05, 1.05 / light
        if abs(black / white - 1) > 0.002:
            assert ink_on(rgb) == ("#000" if black > white else "#fff")


def _luminance(rgb: tuple[int, ...]) -> float:
    parts = [v / 255 for v in rgb]
    light = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
