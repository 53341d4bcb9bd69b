"""Recorded landscapes: the results of training every order several times.

A landscape file is JSON (`schema` says which form), under a megabyte for 120 orders. It lists for
each order, by index, one record per training run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wfbench.contract import Order, UsageError
from wfbench.orders import all_orders, format_order, order_index, parse_order
from wfbench.store.decoding import decode
from wfbench.store.event_log import plain
from wfbench.store.files import read_json, write_whole

SCHEMA = "landscape/1"
META = ("env", "trainer", "definition", "score", "budget", "command")
"""What every landscape says about its runs; `budget` is the environment steps of one."""

Value = Literal["return", "compliance", "steps"]
"""What counts as an order's value: its return, its compliance, or how soon it is learned."""
UNITS: dict[Value, str] = {
    "return": "points of return",
    "compliance": "per cent of compliance",
    "steps": "thousand environment steps to compliance",
}


@dataclass(frozen=True)
class Replicate:
    """One training run of an order."""

    seed: int
    score: float
    """Mean return; NaN if training failed."""
    compliance: float
    """NaN if too few choices tested it."""
    steps_to_compliance: int | None
    """Environment steps until compliance reached the threshold; None if it never did."""
    env_steps: int

    def value(self, value: Value) -> float:
        """Return what the run is worth by its return, its compliance or its steps."""
        if value == "return" or not math.isfinite(self.score):
            return self.score
        if value == "compliance":
            return 100.0 * self.compliance
        steps = self.env_steps if self.steps_to_compliance is None else self.steps_to_compliance
        return -steps / 1_000


@dataclass(frozen=True)
class Landscape:
    """Training runs of every order."""

    units: tuple[str, ...]
    replicates: tuple[tuple[Replicate, ...], ...]
    """By order index; empty for an order that was not trained."""
    meta: Mapping[str, Any]

    def scores(self, index: int) -> list[float]:
        """Return the scores of an order's runs that did not fail."""
        return [one.score for one in self.replicates[index] if math.isfinite(one.score)]


def collect_landscape(
    runs: Iterable[tuple[Order, Replicate]], units: Iterable[str], meta: Mapping[str, Any]
) -> Landscape:
    """Return the landscape of these training runs, those of an order sorted by seed."""
    units = tuple(units)
    by_order: list[list[Replicate]] = [[] for _ in all_orders(len(units))]
    for order, replicate in runs:
        by_order[order_index(order)].append(replicate)
    missing = [key for key in META if key not in meta]
    if missing:
        raise UsageError(f"a landscape must name its {', '.join(missing)}")
    ordered = tuple(tuple(sorted(one, key=lambda run: run.seed)) for one in by_order)
    return Landscape(units, ordered, dict(meta))


def valued_by(landscape: Landscape, value: Value) -> Landscape:
    """Return the same trainings with another score; more is better, so steps are negative.

    A training that never complied counts with all its steps. It needed at least as many, so
    differences between slow orders are understated. Failed trainings stay failed.
    """
    replicates = tuple(
        tuple(replace(one, score=one.value(value)) for one in of_order)
        for of_order in landscape.replicates
    )
    return replace(landscape, replicates=replicates)


def write_landscape(path: Path, landscape: Landscape) -> None:
    """Write a landscape file."""
    units = landscape.units
    rows = [
        {
            "index": index,
            "order": format_order(order, units),
            "replicates": [plain(asdict(one)) for one in landscape.replicates[index]],
        }
        for index, order in enumerate(all_orders(len(units)))
    ]
    lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rows)
    head = {"schema": f"wfbench/{SCHEMA}", "units": list(units), "meta": dict(landscape.meta)}
    text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, f'{text[:-2]},\n "orders": [\n{lines}\n ]\n}}\n'.encode())


def read_landscape(path: Path) -> Landscape:
    """Read a landscape; raise a usage error that says what is wrong with it."""
    data = read_json(path, SCHEMA)
    try:
        return _parsed(data)
    except (KeyError, TypeError, ValueError, UsageError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"landscape {path}: {what}") from error


def _parsed(data: Mapping[str, Any]) -> Landscape:
    units = tuple(str(unit) for unit in data["units"])
    by_index: dict[int, tuple[Replicate, ...]] = {}
    for row in data["orders"]:
        index = int(row["index"])
        if index in by_index:
            raise ValueError(f"order {index} is listed twice")
        if order_index(parse_order(row["order"], units)) != index:
            raise ValueError(f"order {row['order']} does not have index {index}")
        by_index[index] = tuple(_replicate(one, index) for one in row["replicates"])
    count = len(all_orders(len(units)))
    replicates = tuple(by_index.get(index, ()) for index in range(count))
    return Landscape(units, replicates, dict(data["meta"]))


def _replicate(row: Mapping[str, Any], index: int) -> Replicate:
    replicate = decode(Replicate, row, f"order {index}")
    if not (math.isnan(replicate.compliance) or 0 <= replicate.compliance <= 1):
        raise ValueError(f"order {index} has compliance {replicate.compliance}")
    return replicate
