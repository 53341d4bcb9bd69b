"""Where output goes. Colour only on a terminal and never against NO_COLOR."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 160
"""Columns where there is no terminal to ask: rows stay whole for `grep` and logs."""


def console() -> Console:
    """Return standard output."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(width=width, highlight=False, emoji=False, markup=False)


def print_json(schema: str, values: Mapping[str, Any]) -> None:
    """Print a JSON answer. `schema` names its shape and version: `plugins-list/1`."""
    text = json.dumps({"schema": f"wfbench/{schema}", **values}, indent=2, ensure_ascii=False)
    sys.stdout.write(text + "\n")


def warn(line: str) -> None:
    """Print a warning; the command goes on."""
    sys.stderr.write(f"wfbench: warning: {line}\n")


def fail(line: str) -> None:
    """Print the error that ends a command."""
    sys.stderr.write(f"wfbench: {line}\n")
