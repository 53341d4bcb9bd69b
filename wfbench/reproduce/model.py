"""What was found about each claim, and every sample that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import Finding, FindingTable, Interval, UsageError
from wfbench.store.event_log import plain
from wfbench.store.files import read_json, write_json

SCHEMA = "reproduction/1"


@dataclass(frozen=True)
class ClaimResult:
    """One claim: what was documented, and what was found or why nothing was."""

    name: str
    number: int
    summary: str
    documented: str
    conditions: str
    source: str
    plugin: str
    """The distribution, with its version, that makes the claim testable."""
    seconds: float
    measurements: tuple[int, ...]
    """Ids of the measurements that it rests on."""
    finding: Finding | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Measured:
    """One measurement: what was asked for, and its samples."""

    id: int
    kind: str
    """`collect`, `train` or `gradients`."""
    cases: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]
    samples: tuple[tuple[Mapping[str, Any], ...], ...]
    """By case and round."""
    load: tuple[float, float]
    """One-minute load of the machine before and after."""


@dataclass(frozen=True)
class Reproduction:
    """Everything that one `wfbench reproduce` did."""

    command: str
    created: str
    seed: int
    quick: bool
    seconds: float
    machine: Mapping[str, Any]
    claims: tuple[ClaimResult, ...]
    measurements: tuple[Measured, ...]

    @property
    def failed(self) -> bool:
        """Whether something could not be measured."""
        return any(claim.failure is not None for claim in self.claims)

    def as_data(self) -> dict[str, Any]:
        """This as JSON values."""
        data: dict[str, Any] = plain(asdict(self))
        return data


def write_reproduction(path: Path, reproduction: Reproduction) -> None:
    """Write it to a file."""
    write_json(path, SCHEMA, reproduction.as_data())


def read_reproduction(path: Path) -> Reproduction:
    """What `write_reproduction` wrote."""
    data = read_json(path, SCHEMA)
    data.pop("schema")
    try:
        claims = tuple(_claim(one) for one in data.pop("claims"))
        measured = tuple(_measured(one) for one in data.pop("measurements"))
        return Reproduction(claims=claims, measurements=measured, **data)
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is not a whole reproduction: {error}") from error


def _claim(data: Mapping[str, Any]) -> ClaimResult:
    given = dict(data)
    found = given.pop("finding")
    measurements = tuple(given.pop("measurements"))
    return ClaimResult(
        **given, measurements=measurements, finding=None if found is None else _finding(found)
    )


def _finding(data: Mapping[str, Any]) -> Finding:
    given = dict(data)
    interval = given.pop("interval")
    tables = tuple(
        FindingTable(t["title"], tuple(t["columns"]), tuple(tuple(row) for row in t["rows"]))
        for t in given.pop("tables")
    )
    scaled = tuple(given.pop("scaled"))
    found = None if interval is None else Interval(**interval)
    return Finding(interval=found, tables=tables, scaled=scaled, **given)


def _measured(data: Mapping[str, Any]) -> Measured:
    given = dict(data)
    cases, samples = tuple(given.pop("cases")), given.pop("samples")
    before, after = given.pop("load")
    return Measured(
        cases=cases,
        samples=tuple(tuple(of_case) for of_case in samples),
        load=(before, after),
        **given,
    )
