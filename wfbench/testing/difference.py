"""The earliest difference between what was delivered and what should have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Rollout
from wfbench.contract.record import PLAIN_FIELDS

CELLS = ("obs", "actions", "log_probs", "values", *(f for f in PLAIN_FIELDS if f != "obs"))
"""Fields with a value per step and environment, each after those that it follows from."""
_COLUMNS = ("env_id", "first_step", "policy_version")

_Place = tuple[int, int, str, object, object]
"""Step, environment, field, and what was got and expected there."""


def difference(got: Rollout, wanted: Rollout) -> str | None:
    """Return the earliest difference of two rollouts in one line; None if there is none.

    What differs later, or follows from it in the same step, is only counted.
    """
    for name in (*CELLS, *_COLUMNS, "next_obs"):
        mine, theirs = getattr(got, name), getattr(wanted, name)
        if mine.shape != theirs.shape:
            return f"{name} has the shape {mine.shape}, not {theirs.shape}"
    for name in ("obs", "final_obs", "next_obs"):
        mine, theirs = getattr(got, name), getattr(wanted, name)
        if mine.dtype != theirs.dtype:
            return f"{name} is of type {mine.dtype}, not {theirs.dtype}"
    for name in _COLUMNS:
        columns = np.flatnonzero(getattr(got, name) != getattr(wanted, name))
        if len(columns):
            at = int(columns[0])
            mine, theirs = getattr(got, name)[at], getattr(wanted, name)[at]
            return f"{name} of column {at} is {mine}, not {theirs}"
    cells = {name: (getattr(got, name), getattr(wanted, name)) for name in CELLS}
    if len(got.final_obs) == len(wanted.final_obs):
        cells["final_obs"] = _where_ended(got, wanted), _where_ended(wanted, wanted)
    places = _places(cells, wanted.env_id, wanted.first_step)
    places += _places(
        {"next_obs": (got.next_obs[np.newaxis], wanted.next_obs[np.newaxis])},
        wanted.env_id,
        wanted.first_step + len(wanted.actions),
    )
    if not places and len(got.final_obs) != len(wanted.final_obs):
        return f"final_obs has {len(got.final_obs)} rows, not {len(wanted.final_obs)}"
    return _earliest(places)


def stretch_difference(got: Rollout, column: int, truth: Rollout) -> str | None:
    """Return the earliest difference of one column from where its environment was then."""
    env, first, length = int(got.env_id[column]), int(got.first_step[column]), len(got.actions)
    cells = {
        name: (
            getattr(got, name)[:, column : column + 1],
            getattr(truth, name)[first : first + length, env : env + 1],
        )
        for name in CELLS
    }
    return _earliest(_places(cells, np.array([env]), np.array([first])))


def _earliest(places: list[_Place]) -> str | None:
    """Return the first of these places in words, and how many fields differ after it."""
    if not places:
        return None
    step, env, name, got, wanted = min(places, key=lambda place: place[0])
    others = len({place[2].partition("[")[0] for place in places} - {name.partition("[")[0]})
    more = f"; {others} other fields differ from there on" if others else ""
    return f"{name} of env {env} at step {step} is {got}, not {wanted}{more}"


def _places(
    cells: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
    envs: NDArray[np.int64],
    first_step: NDArray[np.int64],
) -> list[_Place]:
    """Return the first place of each field that differs."""
    found: list[_Place] = []
    for name, (got, wanted) in cells.items():
        where = np.argwhere(got != wanted)
        if len(where):
            row, column, *feature = where[0].tolist()
            named = name + "".join(f"[{index}]" for index in feature)
            place = (row, column, *feature)
            step = int(first_step[column]) + row
            found.append((step, int(envs[column]), named, got[place], wanted[place]))
    return found


def _where_ended(rollout: Rollout, wanted: Rollout) -> NDArray[Any]:
    """Return the final observations at the steps that should have ended an episode."""
    final = rollout.final_obs
    found = np.zeros(wanted.ended.shape + final.shape[1:], dtype=final.dtype)
    found[wanted.ended] = final
    return found
