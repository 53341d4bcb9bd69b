"""The curves of one run, in TensorBoard's event files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorboard.summary import Writer  # type: ignore[import-untyped]

_NAMES = frozenset({"ledger", "order_index", "policy_version", "seed", "update", "workflow"})
"""Numbers that say which point it is rather than how things went."""


class Curves:
    """One event file; a run that is taken up again begins another beside it."""

    def __init__(self, folder: Path) -> None:
        self._writer = Writer(str(folder))

    def add_update(self, values: Mapping[str, Any]) -> None:
        """One point of every number of an update."""
        for tag, value in _numbers("update", values):
            self._writer.add_scalar(tag, value, int(values["ledger"]))

    def add_workflow(self, values: Mapping[str, Any]) -> None:
        """One point of every number of a workflow; from here on it is on disk."""
        for tag, value in _numbers("workflow", values):
            self._writer.add_scalar(tag, value, int(values["workflow"]))
        self._writer.flush()

    def close(self) -> None:
        """Write what is left and end the file."""
        self._writer.close()


def _numbers(group: str, values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Tags and values of the finite numbers, those of nested groups too."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(f"{group}/{name}", value)
        elif isinstance(value, (bool, int, float)) and name not in _NAMES and math.isfinite(value):
            yield f"{group}/{name}", float(value)
