"""Slowing one kind of collector down on purpose, to prove that a gate notices."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from wfbench.contract import OWNER_VARIABLE

from .options import Costs


def slowed(costs: Costs, file: str) -> Costs:
    """The costs of a step times the factor in `file`, if that exists and this is a worker.

    It is a file, and no factor among the options, so that what is measured stays the same case: a
    slow-down that is part of the case would be refused as another case, not found as a regression.
    """
    if not file or OWNER_VARIABLE not in os.environ:
        return costs
    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return costs
    factor = float(text)
    if not factor > 0:
        raise ValueError(f"{file} holds {text.strip()}; a factor must be positive")
    return replace(costs, step=costs.step * factor)
