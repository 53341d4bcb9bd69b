"""Lines and their labels are where they belong, to the pixel."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from wfbench.report.document import Bars, Column, Curves, Exhibit, Panel, Table, Timeline
from wfbench.report.formats.html import draw
from wfbench.report.formats.svg import width_of

LEFT, RIGHT = 54.0, 12.0
"""Room beside the plane of a chart."""


def drawn(names: str, rows: object, picture: object, width: float) -> ET.Element:
    table = Table(tuple(map(Column, names.split())), tuple(rows))  # type: ignore[call-overload]
    exhibit = Exhibit("t", "r", table, "c", picture)  # type: ignore[arg-type]
    return ET.fromstring(str(draw(exhibit, width)))  # noqa: S314 - our own


def texts(root: ET.Element, kind: str) -> list[str]:
    return [one.text or "" for one in root.iter("text") if one.get("class") == kind]


@pytest.mark.parametrize(
    ("width", "height"), [(400, "260"), (499, "309.5"), (500, "300"), (501, "300"), (900, "300")]
)
def test_a_narrow_chart_is_half_as_high_as_wide(width: float, height: str) -> None:
    root = drawn("x y s", ((1, 2.0, "a"), (2, 3.0, "a")), Curves("x", "y", "s"), width)
    assert root.get("height") == height


@pytest.mark.parametrize(
    ("width", "last", "ticks"),
    [(500, 22, "0 10 20"), (501, 22, "0 5 10 15 20"), (501, 75, "0 20 40 60")],
)
def test_a_wide_chart_has_more_ticks(width: float, last: int, ticks: str) -> None:
    rows = ((0, 1.0, "a"), (last, 1.0, "a"))
    root = drawn("x y s", rows, Curves("x", "y", "s"), width)
    below = [one for one in root.iter("text") if one.get("text-anchor") == "middle"]
    assert [one.text for one in below if one.get("class") == "tick"] == ticks.split()


@pytest.mark.parametrize(
    ("width", "value", "ticks"),
    [(500, 20.0, "0 10 20"), (501, 20.0, "0 5 10 15 20"), (501, 13.0, "0 2.5 5 7.5 10 12.5 15")],
)
def test_wide_bars_have_more_ticks(width: float, value: float, ticks: str) -> None:
    root = drawn("s x", (("a", value),), Bars("s", "x"), width)
    assert texts(root, "tick") == ticks.split()


def test_a_single_point_lies_within_round_numbers() -> None:
    root = drawn("x y s", ((7.5, 1.0, "a"),), Curves("x", "y", "s"), 566)
    [dot] = root.iter("circle")
    assert float(dot.get("cx", "")) == LEFT + 500 * (7.5 - 2) / (12 - 2)
    assert texts(root, "tick")[-6:] == ["2", "4", "6", "8", "10", "12"]


@pytest.mark.parametrize(("lowest", "cut"), [(92.0, False), (91.9, True)])
def test_values_are_cut_off_below_most_others_by_most_of_their_range(
    *, lowest: float, cut: bool
) -> None:
    values = [lowest, 96.0, *[100.0] * 7, 110.0]
    rows = [(n, "1", True, value) for n, value in enumerate(values)]
    picture = Timeline("x", "s", "on", (Panel("y"),), "yes", "no")
    found = texts(drawn("x s on y", rows, picture, 600), "faint")
    assert ("cut off: the lowest is 92" in found) == cut


@pytest.mark.parametrize(
    ("points", "link", "dots"), [(40, None, 40), (41, None, 0), (41, "to", 41)]
)
def test_few_points_and_those_that_lead_somewhere_have_dots(
    points: int, link: str | None, dots: int
) -> None:
    rows = ((x, 1.0, "a", "there") for x in range(points))
    root = drawn("x y s to", rows, Curves("x", "y", "s", link=link), 600)
    assert len([*root.iter("circle")]) == dots


@pytest.mark.parametrize("ends", [(1.0, None), (None, 3.0)])
def test_a_point_with_one_end_has_no_interval(ends: tuple[float | None, ...]) -> None:
    rows = ((1, 2.0, "a", 1.0, 3.0), (2, 2.0, "a", *ends))
    root = drawn("x y s l h", rows, Curves("x", "y", "s", "l", "h"), 600)
    assert len([one for one in root.iter("line") if one.get("class") == "interval s0"]) == 1


@pytest.mark.parametrize(("points", "whiskers", "bands"), [(12, 12, 0), (13, 0, 1)])
def test_many_intervals_are_a_band(points: int, whiskers: int, bands: int) -> None:
    rows = ((x, 2.0, "a", 1.0, 3.0) for x in range(points))
    root = drawn("x y s l h", rows, Curves("x", "y", "s", "l", "h"), 600)
    kinds = [one.get("class") for one in root.iter()]
    assert (kinds.count("interval s0"), kinds.count("band c0")) == (whiskers, bands)


UNIT = LEFT + RIGHT + 512.0
"""The width of a drawing in which the axis below has a pixel per number."""


def labels(first: float, second: float, name: str = "aa") -> list[str]:
    """Return the labels of two series that end at these pixels of the axis."""
    rows = [(x, name, True, 1.0) for x, name in ((first, name), (second, "bb"), (512.0, "c"))]
    picture = Timeline("x", "s", "on", (Panel("y"),), "yes", "no")
    return texts(drawn("x s on y", rows, picture, UNIT), "faint")


def test_a_series_is_named_where_there_is_room() -> None:
    room = width_of("aa") + 4
    assert labels(room + 0.01, 511.0) == ["s aa"]
    assert labels(room - 0.01, 511.0) == ["s bb"]
    assert labels(100.0, 100.0 + width_of("bb") + 4.01) == ["s aa", "bb"]
    assert labels(100.0, 100.0 + width_of("bb") + 3.99) == ["s aa", "c"]


def test_a_name_does_not_cover_the_one_before() -> None:
    room = width_of("s aa") + 6
    assert labels(room + 0.01, 511.0) == ["s aa", "bb"]
    assert labels(room - 0.01, 511.0) == ["s aa"]


def test_a_name_needs_more_than_its_room_and_may_touch_the_one_before() -> None:
    whole, after = "WWWWW", "AA"  # of 54 pixels, and of 30 with the name of the series
    assert (width_of(whole), width_of(f"s {after}")) == (54.0, 30.0)
    assert labels(54.0 + 4, 511.0, whole) == ["s bb"]
    assert labels(30.0 + 6, 511.0, after) == ["s AA", "bb"]
