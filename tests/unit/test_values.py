from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.host import values

Payload = Literal["mask", "true-state"]


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (int, "20_000", 20_000),
        (int, "-3", -3),
        (float, "2", 2.0),
        (float, "1e-3", 0.001),
        (str, "a=b,c", "a=b,c"),
        (bool, "Yes", True),
        (bool, "on", True),
        (bool, "1", True),
        (bool, "TRUE", True),
        (bool, "off", False),
        (bool, "no", False),
        (bool, "0", False),
        (bool, "False", False),
        (int | None, "None", None),
        (tuple[int, ...], "", ()),
        (int | None, "none", None),
        (int | None, "4", 4),
        (Payload, "mask", "mask"),
        (tuple[str, ...], "shm:workers=2 pipe", ("shm:workers=2", "pipe")),
    ],
)
def test_text_becomes_a_value_of_the_type(hint: Any, text: str, value: object) -> None:
    found = values.from_text(hint, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("hint", "text", "message"),
    [
        (int, "2.5", "'2.5' is not of type int"),
        (int, "", "'' is not of type int"),
        (float, "fast", "'fast' is not of type float"),
        (bool, "maybe", "say true or false"),
        (Payload, "all", "not one of mask, true-state"),
    ],
)
def test_other_text_is_refused_with_what_was_expected(hint: Any, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        values.from_text(hint, text)


@pytest.mark.parametrize(
    ("hint", "value"), [(int, True), (int, 2.0), (bool, 1), (str, 3), (float, "1"), (Payload, "x")]
)
def test_data_of_another_type_is_refused(hint: Any, value: object) -> None:
    with pytest.raises(ValueError, match="is not"):
        values.from_data(hint, value)


def test_data_may_say_none_where_there_may_be_none() -> None:
    assert values.from_data(int | None, "none") is None
    assert values.from_data(int | None, 4) == 4
    with pytest.raises(ValueError, match="'none' is not of type int"):
        values.from_data(int, "none")


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "int"),
        (float | None, "float or none"),
        (tuple[str, ...], "list of str"),
        (Payload, "mask|true-state"),
        (tuple[int | None, ...], "list of int or none"),
    ],
)
def test_types_are_described_in_words(hint: Any, words: str) -> None:
    assert values.supported(hint)
    assert values.describe(hint) == words


def test_data_may_leave_out_the_point_and_the_list() -> None:
    assert values.from_data(float, 3) == 3.0
    assert type(values.from_data(float, 3)) is float
    assert values.from_data(tuple[str, ...], "shm") == ("shm",)
    assert values.from_data(tuple[str, ...], ["shm", "pipe"]) == ("shm", "pipe")
    assert values.from_data(tuple[str, ...], ("shm", "pipe")) == ("shm", "pipe")


@given(
    st.one_of(
        st.tuples(st.just(int), st.integers()),
        st.tuples(st.just(float), st.floats(allow_nan=False)),
        st.tuples(st.just(bool), st.booleans()),
        st.tuples(st.just(int | None), st.none() | st.integers()),
    )
)
def test_text_and_value_are_inverse(case: tuple[Any, Any]) -> None:
    hint, value = case
    assert values.from_text(hint, values.to_text(value)) == value


def test_what_a_user_cannot_type_is_not_supported() -> None:
    for hint in (
        list,
        dict[str, int],
        int | str,
        int | str | None,
        Literal[1, 2],
        Literal["a", 2],
        tuple[int, str],
    ):
        assert not values.supported(hint)
