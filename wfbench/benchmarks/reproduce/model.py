"""What was found about each claim, and every sample behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import Finding
from wfbench.store.event_log import plain
from wfbench.store.files import read_record, write_json

SCHEMA = "reproduction/1"


@dataclass(frozen=True)
class ClaimResult:
    """One claim: what was documented, and what was found or why it could not be measured."""

    name: str
    number: int
    summary: str
    documented: str
    conditions: str
    source: str
    plugin: str
    """The distribution that offers the claim, with its version."""
    seconds: float
    measurements: tuple[int, ...]
    """Ids of the measurements it used."""
    finding: Finding | None = None
    failure: str | None = None


@dataclass(frozen=True)
class LabMeasurement:
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
    """The result of one `wfbench reproduce`."""

    command: str
    created: str
    seed: int
    quick: bool
    seconds: float
    machine: Mapping[str, Any]
    claims: tuple[ClaimResult, ...]
    measurements: tuple[LabMeasurement, ...]

    @property
    def failed(self) -> bool:
        """Whether something could not be measured."""
        return any(claim.failure is not None for claim in self.claims)

    def as_data(self) -> dict[str, Any]:
        """Return the reproduction as JSON values."""
        data: dict[str, Any] = plain(asdict(self))
        return data


def write_reproduction(path: Path, reproduction: Reproduction) -> None:
    """Write a reproduction to a file."""
    write_json(path, SCHEMA, reproduction.as_data())


def read_reproduction(path: Path) -> Reproduction:
    """Read what `write_reproduction` wrote."""
    return read_record(path, SCHEMA, Reproduction)
