"""Recorded landscapes: how training every order turned out, several times over.

A landscape file is JSON (`schema` says which form), under a megabyte for 120 orders. It lists for
each order, by index, one record per training run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import Order, UsageError
from wfbench.orders import all_orders, format_order, order_index, parse_order
from wfbench.store.files import write_whole

SCHEMA = "wfbench/landscape/1"
META = ("env", "trainer", "definition", "score", "budget", "command")
"""What every landscape says about its making; `budget` is the environment steps of one run."""


@dataclass(frozen=True)
class Replicate:
    """One training run of an order."""

    seed: int
    score: float
    """Environment reward; NaN if training failed."""
    compliance: float
    steps_to_compliance: int | None
    """Environment steps until the order counted as learned; None: never."""
    env_steps: int


@dataclass(frozen=True)
class Landscape:
    """Training runs of every order."""

    units: tuple[str, ...]
    replicates: tuple[tuple[Replicate, ...], ...]
    """By order index; empty for an order that was not trained."""
    meta: Mapping[str, Any]

    def scores(self, index: int) -> list[float]:
        """The scores of an order's runs that did not fail."""
        return [one.score for one in self.replicates[index] if math.isfinite(one.score)]


def collect_landscape(
    runs: Iterable[tuple[Order, Replicate]], units: Iterable[str], meta: Mapping[str, Any]
) -> Landscape:
    """The landscape of these training runs, the runs of an order by seed."""
    units = tuple(units)
    by_order: list[list[Replicate]] = [[] for _ in all_orders(len(units))]
    for order, replicate in runs:
        by_order[order_index(order)].append(replicate)
    missing = [key for key in META if key not in meta]
    if missing:
        raise UsageError(f"a landscape needs to say its {', '.join(missing)}")
    ordered = tuple(tuple(sorted(one, key=lambda run: run.seed)) for one in by_order)
    return Landscape(units, ordered, dict(meta))


def write_landscape(path: Path, landscape: Landscape) -> None:
    """Write a landscape, whole or not at all."""
    units = landscape.units
    rows = [
        {
            "index": index,
            "order": format_order(order, units),
            "replicates": [_row(one) for one in landscape.replicates[index]],
        }
        for index, order in enumerate(all_orders(len(units)))
    ]
    lines = ",\n".join("  " + json.dumps(row, allow_nan=False) for row in rows)
    head = {"schema": SCHEMA, "units": list(units), "meta": dict(landscape.meta)}
    text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, f'{text[:-2]},\n "orders": [\n{lines}\n ]\n}}\n'.encode())


def read_landscape(path: Path) -> Landscape:
    """The landscape in a file; what is wrong with it is a usage error."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"landscape {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"landscape {path}: this is not JSON: {error}") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise UsageError(f"landscape {path}: its schema is {schema!r}, not {SCHEMA!r}")
    try:
        return _parsed(data)
    except (KeyError, TypeError, ValueError, UsageError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"landscape {path}: {what}") from error


def _row(replicate: Replicate) -> dict[str, Any]:
    row = asdict(replicate)
    if not math.isfinite(replicate.score):
        row["score"] = None
    return row


def _parsed(data: Mapping[str, Any]) -> Landscape:
    units = tuple(str(unit) for unit in data["units"])
    by_index: dict[int, tuple[Replicate, ...]] = {}
    for row in data["orders"]:
        index = int(row["index"])
        if index in by_index:
            raise ValueError(f"order {index} is there twice")
        if order_index(parse_order(row["order"], units)) != index:
            raise ValueError(f"order {row['order']} does not have index {index}")
        by_index[index] = tuple(_replicate(one, index) for one in row["replicates"])
    count = len(all_orders(len(units)))
    replicates = tuple(by_index.get(index, ()) for index in range(count))
    return Landscape(units, replicates, dict(data["meta"]))


def _replicate(row: Mapping[str, Any], index: int) -> Replicate:
    steps = row["steps_to_compliance"]
    replicate = Replicate(
        seed=int(row["seed"]),
        score=math.nan if row["score"] is None else float(row["score"]),
        compliance=float(row["compliance"]),
        steps_to_compliance=None if steps is None else int(steps),
        env_steps=int(row["env_steps"]),
    )
    if not 0 <= replicate.compliance <= 1:
        raise ValueError(f"order {index} has compliance {replicate.compliance}")
    return replicate
