"""The options of the environment, and their checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from wfbench.contract import option

RED_CHOICES = ("bline", "meander", "sleep", "mixed")
ACTION_CHOICES = ("all", "reduced")
_PURE = RED_CHOICES[:-1]


@dataclass(frozen=True)
class Cage2Options:
    """Options of `cage2`, in both its forms."""

    red: str = option("bline", "red agent: bline, meander, sleep, or mixed")
    red_weights: str = option(
        "", "with red=mixed: weights per episode, e.g. 'bline=2;meander=1'", of="red"
    )
    episode_steps: int = option(100, "steps per episode")
    memory: bool = option(
        default=False, meaning="append what blue knows from its own actions and past alerts"
    )
    actions: str = option("all", "all 145, or reduced: the useful ones and decoy macros")
    history: bool = option(
        default=False, meaning="with memory: append also what blue knows of the past"
    )

    def __post_init__(self) -> None:
        check_options(self.red, self.red_weights, self.episode_steps, self.actions)


def check_options(
    red: object, weights: Mapping[str, float] | str | None, episode_steps: object, actions: object
) -> tuple[float, ...]:
    """Check the options; return the cumulative shares of bline, meander and sleep in episodes."""
    if actions not in ACTION_CHOICES:
        raise ValueError(f"unknown actions {actions!r}; choose one of {', '.join(ACTION_CHOICES)}")
    if isinstance(episode_steps, bool) or not isinstance(episode_steps, int) or episode_steps < 1:
        raise ValueError(f"episode_steps is {episode_steps!r}; it must be an integer of at least 1")
    return _red_shares(red, weights)


def _red_shares(red: object, weights: Mapping[str, float] | str | None) -> tuple[float, ...]:
    if red not in RED_CHOICES:
        raise ValueError(f"unknown red agent {red!r}; choose one of {', '.join(RED_CHOICES)}")
    if red != "mixed":
        if weights:
            raise ValueError(f"red_weights only applies to red='mixed', not to red={red!r}")
        return tuple(float(_PURE.index(str(red)) <= i) for i in range(len(_PURE)))
    parts = _parse(weights) if isinstance(weights, str) else dict(weights or {})
    parts = parts or dict.fromkeys(_PURE, 1.0)
    unknown = sorted(parts.keys() - set(_PURE))
    if unknown:
        raise ValueError(f"red_weights names {', '.join(unknown)}; known are {', '.join(_PURE)}")
    values = [float(parts.get(name, 0.0)) for name in _PURE]
    total = sum(values)
    if not all(math.isfinite(v) and v >= 0 for v in values) or total <= 0:
        raise ValueError(f"red_weights {parts} must be non-negative numbers, at least one positive")
    shares = [sum(values[: i + 1]) / total for i in range(len(values))]
    return (*shares[:-1], 1.0)


def _parse(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, equals, value = part.partition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise ValueError(f"red_weights part {part!r} is not of the form name=number")
    return weights
