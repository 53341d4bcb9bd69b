"""JSON values become records, or are refused by name and place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from wfbench.contract import UsageError
from wfbench.store.decoding import decode


class Colour(Enum):
    """A kind of value."""

    RED = "red"


@dataclass(frozen=True)
class Part:
    """A record in a record."""

    number: int


@dataclass(frozen=True)
class Whole:
    """A record of every kind of field."""

    share: float = 0.0
    colour: Colour = Colour.RED
    place: Path = Path()
    mode: Literal["on", "off"] = "on"
    pair: tuple[int, str] = (0, "")
    many: tuple[int, ...] = ()
    parts: Mapping[str, Part] = field(default_factory=dict)
    maybe: Part | None = None
    either: int | str = 0
    anything: Any = None
    needed: bool = False


@dataclass(frozen=True)
class Needy:
    """A record with a field that has no default."""

    number: int
    rest: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, Whole()),
        ({"share": 2}, Whole(share=2.0)),
        ({"share": 0.5}, Whole(share=0.5)),
        ({"colour": "red", "place": "a/b", "mode": "off"}, Whole(place=Path("a/b"), mode="off")),
        ({"pair": [1, "a"], "many": [1, 2, 3]}, Whole(pair=(1, "a"), many=(1, 2, 3))),
        ({"parts": {"a": {"number": 1}}}, Whole(parts={"a": Part(1)})),
        ({"maybe": None}, Whole()),
        ({"maybe": {"number": 2}}, Whole(maybe=Part(2))),
        ({"either": 3}, Whole(either=3)),
        ({"either": "three"}, Whole(either="three")),
        ({"anything": [1, {"a": None}]}, Whole(anything=[1, {"a": None}])),
    ],
)
def test_values_become_what_the_fields_say(given: dict[str, Any], wanted: Whole) -> None:
    found = decode(Whole, given, "it")
    assert found == wanted
    assert type(found.share) is float


def test_a_number_that_is_missing_is_none_of_the_numbers() -> None:
    assert math.isnan(decode(Whole, {"share": None}, "it").share)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "it is [], not an object"),
        ({"x": 1}, "it has 'x', which this version does not know"),
        ({"share": True}, "it, share is True, not of type float"),
        ({"share": "1"}, "it, share is '1', not of type float"),
        ({"colour": "blue"}, "it, colour is 'blue', not of type Colour"),
        ({"place": 1}, "it, place is 1, not of type Path"),
        ({"mode": "half"}, "it, mode is 'half', not one of on, off"),
        ({"pair": [1]}, "it, pair has 1 values, not 2"),
        ({"pair": [1, 2]}, "it, pair[1] is 2, not of type str"),
        ({"many": [1, "2"]}, "it, many[1] is '2', not of type int"),
        ({"many": {}}, "it, many is {}, not a list"),
        ({"parts": []}, "it, parts is [], not an object"),
        ({"parts": {"a": {}}}, "it, parts.a has no 'number'"),
        ({"maybe": 1}, "it, maybe is 1, not an object"),
        ({"either": 1.5}, "it, either is 1.5, not of type str"),
        ({"needed": 1}, "it, needed is 1, not of type bool"),
        ({"needed": "x" * 38}, f"it, needed is '{'x' * 38}', not of type bool"),
        ({"needed": "x" * 39}, f"it, needed is '{'x' * 36}..., not of type bool"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(given: Any, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        decode(Whole, given, "it")
    assert str(caught.value) == said


def test_a_field_without_a_default_is_needed() -> None:
    assert decode(Needy, {"number": 1}, "it") == Needy(1)
    with pytest.raises(UsageError, match="it has no 'number'"):
        decode(Needy, {"rest": []}, "it")
