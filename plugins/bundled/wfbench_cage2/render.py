"""Show the thirteen hosts as a table: the truth next to what blue believes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from . import tables
from .layout import unpack

_WIDTH = 118
_SESSIONS = {"root": "root", "sus": "seen", "oth": "unseen"}
_KNOWLEDGE = {"kip": "address", "rscan": "ports", "khost": "name"}


def table_text(state: NDArray[np.int16], step: int) -> str:
    """Return the table as plain text."""
    sink = io.StringIO()
    console = Console(file=sink, width=_WIDTH, color_system=None, legacy_windows=False)
    console.print(_table(unpack(state), step))
    return sink.getvalue()


def print_table(state: NDArray[np.int16], step: int) -> None:
    """Print the table to the terminal."""
    Console().print(_table(unpack(state), step))


def _table(fields: dict[str, Any], step: int) -> Table:
    title = f"step {step}, red agent {tables.Red(fields['red']).name.lower()}"
    table = Table(title=title, caption=_caption(fields), title_justify="left")
    for name in ("host", "red has", "red knows", "decoys", "blue believes", "blue saw"):
        table.add_column(name, no_wrap=name != "decoys")
    for h, host in enumerate(tables.HOSTS):
        counts = {label: fields[name][h] for name, label in _SESSIONS.items()}
        access = [f"{count} {label}" for label, count in counts.items() if count]
        table.add_row(
            host.name,
            ", ".join(access + ["file"] * fields["mal"][h]),
            ", ".join(label for name, label in _KNOWLEDGE.items() if fields[name][h]),
            ", ".join(decoy.name for decoy in tables.decoys_in(fields["dec"][h])),
            tables.Belief(fields["comp"][h]).name.capitalize(),
            tables.Activity(fields["alert"]).name.capitalize() if fields["alert_host"] == h else "",
            style="red" if counts["root"] and host.confidentiality else None,
        )
    return table


def _caption(fields: dict[str, Any]) -> str:
    lines = []
    if fields["blue_action"] >= 0:
        actions = {"blue": tables.action_name(fields["blue_action"]), "red": _red_action(fields)}
        for side, action in actions.items():
            answer = tables.Success(fields[f"{side}_success"]).name.capitalize()
            lines.append(f"{side}: {action} ({answer})")
    if fields["ot_stopped"]:
        lines.append("the OT service of Op_Server0 is DOWN (-10 per step)")
    return "\n".join(lines) or "no action yet"


def _red_action(fields: dict[str, Any]) -> str:
    text = tables.RedAction(fields["red_type"]).name.title().replace("_", "")
    if fields["red_subnet"] >= 0:
        text += f" {tables.Subnet(fields['red_subnet']).name.capitalize()}"
    if fields["red_host"] >= 0:
        text += f" {tables.HOSTS[fields['red_host']].name}"
    if fields["exploit"] >= 0:
        text += f" with {tables.EXPLOITS[tables.Exploit(fields['exploit'])].name}"
    return text
