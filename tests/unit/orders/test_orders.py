from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.contract import Order, UsageError
from wfbench.orders import (
    NAMED,
    NAMED_UNITS,
    all_orders,
    format_order,
    kendall,
    order_code,
    order_index,
    parse_order,
    precedences,
    short_names,
    unit_pairs,
)

DESHU = (0, 1, 2, 3, 4)
orders = st.permutations(range(5)).map(tuple)


def test_orders_are_numbered_lexicographically() -> None:
    assert len(all_orders()) == 120
    assert all_orders()[0] == DESHU
    assert all_orders()[1] == (0, 1, 2, 4, 3)
    assert all_orders()[119] == (4, 3, 2, 1, 0)
    assert list(all_orders()) == sorted(permutations(range(5)))
    assert [order_index(order) for order in all_orders()] == list(range(120))
    assert [order_index(order) for order in all_orders(3)] == list(range(6))


def test_the_code_marks_each_position_with_its_unit() -> None:
    code = order_code((4, 0, 1, 2, 3))
    assert code.dtype == np.float32
    assert np.flatnonzero(code).tolist() == [4, 5, 11, 17, 23]
    assert code.sum() == 5


def test_codes_of_different_orders_differ() -> None:
    assert len({order_code(order).tobytes() for order in all_orders()}) == 120


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("critical_first", "DSEHU"),
        ("enterprise_focus", "EDSHU"),
        ("user_priority", "UDESH"),
        ("operational_focus", "SHDEU"),
        ("balanced", "DESUH"),
        ("reverse", "UHESD"),
    ],
)
def test_named_orders(name: str, letters: str) -> None:
    order = NAMED[name]
    assert format_order(order).replace(">", "") == letters
    assert parse_order(name) == parse_order(name.replace("_", "-").upper()) == order
    assert parse_order(letters) == order


def test_every_order_is_read_back_from_every_notation() -> None:
    for index, order in enumerate(all_orders()):
        letters = format_order(order)
        names = ">".join(NAMED_UNITS[unit] for unit in order)
        for text in (letters, letters.replace(">", ""), letters.lower(), names, str(index)):
            assert parse_order(text) == order
        assert parse_order(f" {letters.replace('>', ' > ')} ") == order


def test_letters_and_names_may_be_mixed() -> None:
    assert parse_order("U>defender>E>op_server>h") == NAMED["user_priority"]


def test_units_whose_letters_clash_are_written_in_full() -> None:
    units = ("server", "switch", "lab")
    assert format_order((1, 0, 2), units) == "switch>server>lab"
    assert parse_order("switch>server>lab", units) == (1, 0, 2)
    assert parse_order("3", units) == (1, 2, 0)
    assert short_names(("1st", "b_2nd")) == ("1st", "b_2nd")
    assert short_names(("1st", "b")) == ("1st", "b"), "a number would be read as an index"
    assert short_names(("a_1st_x", "b")) == ("X", "B")


def test_a_single_unit_has_one_order() -> None:
    assert parse_order("only", ("only",)) == parse_order("O", ("only",)) == (0,)
    assert kendall((0,), (0,)) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "120",
        "-1",
        "DESH",
        "DESHUU",
        "D>E>S>H",
        "D>E>S>H>X",
        "D>D>S>H>U",
        "nonsense",
        "D>>E>S>H",
    ],
)
def test_what_is_not_an_order_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(UsageError, match=r"0\.\.119$") as refused:
        parse_order(text)
    assert ("D>E>S>H>U" in str(refused.value)) == (text != "120")


def test_named_orders_belong_to_their_units() -> None:
    with pytest.raises(UsageError, match=r"write it like A>B, or as an index 0\.\.1$"):
        parse_order("reverse", ("a", "b"))
    with pytest.raises(UsageError, match=", one of critical_first, enterprise_focus, "):
        parse_order("forwards")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 0, 1, 2, 3), (1, 2, 3, 4, 5)])
def test_only_permutations_are_printed(order: Order) -> None:
    with pytest.raises(UsageError, match="is not an order"):
        format_order(order)


def test_too_many_units_cannot_be_listed() -> None:
    with pytest.raises(UsageError, match="1 to 8"):
        all_orders(9)


def test_known_distances() -> None:
    reverse = (4, 3, 2, 1, 0)
    assert kendall(DESHU, reverse) == 1.0
    assert kendall(DESHU, (1, 0, 2, 3, 4)) == pytest.approx(0.1)
    assert kendall(DESHU, (4, 0, 1, 2, 3)) == pytest.approx(0.4)


@given(orders, orders, orders)
def test_distances_are_metrics_whatever_the_units_are_called(a: Order, b: Order, c: Order) -> None:
    assert 0 <= kendall(a, b) <= 1
    assert (kendall(a, b) == 0) == (a == b)
    assert kendall(a, b) == kendall(b, a)
    assert kendall(a, c) <= kendall(a, b) + kendall(b, c) + 1e-12
    renamed = [tuple(c[unit] for unit in order) for order in (a, b)]
    assert kendall(*renamed) == pytest.approx(kendall(a, b))


@given(orders)
def test_precedences_say_who_comes_first(order: Order) -> None:
    for (first, second), sign in zip(unit_pairs(), precedences(order), strict=True):
        assert sign == (1 if order.index(first) < order.index(second) else -1)


def test_the_distance_of_two_units_is_all_or_nothing_and_one_unit_has_none() -> None:
    assert (kendall((0, 1), (1, 0)), kendall((0, 1), (0, 1))) == (1.0, 0.0)
    assert kendall((0,), (0,)) == 0.0
