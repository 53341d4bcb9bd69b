"""Write the curves of one run to TensorBoard's event files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorboard.summary import Writer  # type: ignore[import-untyped]

_NAMES = frozenset(
    {"env_steps_spent", "order_index", "policy_version", "seed", "update", "workflow"}
)
"""Numbers that identify a point instead of measuring something."""


class Curves:
    """One event file; a resumed run begins another."""

    def __init__(self, folder: Path) -> None:
        self._writer = Writer(str(folder))

    def add_update(self, values: Mapping[str, Any]) -> None:
        """Add a point for every number of an update."""
        for tag, value in _numbers("update", values):
            self._writer.add_scalar(tag, value, int(values["env_steps_spent"]))

    def add_workflow(self, values: Mapping[str, Any]) -> None:
        """Add a point for every number of a workflow, and flush."""
        for tag, value in _numbers("workflow", values):
            self._writer.add_scalar(tag, value, int(values["workflow"]))
        self._writer.flush()

    def close(self) -> None:
        """Flush and close the file."""
        self._writer.close()


def _numbers(group: str, values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield tags and values of the finite numbers, including those of nested groups."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(f"{group}/{name}", value)
        elif isinstance(value, (bool, int, float)) and name not in _NAMES and math.isfinite(value):
            yield f"{group}/{name}", float(value)
