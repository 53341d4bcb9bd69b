"""Where output goes. Colour only on a terminal and never against NO_COLOR."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PIPE_WIDTH = 160
"""Columns where there is no terminal to ask: rows stay whole for `grep` and logs."""


def console() -> Console:
    """Standard output."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(width=width, highlight=False, emoji=False, markup=False)


def print_json(schema: str, values: Mapping[str, Any]) -> None:
    """A JSON answer. `schema` names its shape and version: `plugins-list/1`."""
    text = json.dumps({"schema": f"wfbench/{schema}", **values}, indent=2, ensure_ascii=False)
    sys.stdout.write(text + "\n")


def warn(line: str) -> None:
    """A line that asks for attention without ending the command."""
    sys.stderr.write(f"wfbench: warning: {line}\n")


def fail(line: str) -> None:
    """The line that ends a command."""
    sys.stderr.write(f"wfbench: {line}\n")


def plain_table(*columns: str) -> Table:
    """A table without lines: it reads well in a terminal, a log and a diff.

    Where it is narrow, the first column, which says what a row is about, gives way last.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    first, *others = columns
    table.add_column(first, no_wrap=True)
    for column in others:
        table.add_column(column, overflow="fold")
    return table
