"""Show the thirteen hosts as a table: the truth next to what blue believes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from .layout import unpack
from .tables import (
    DECOYS,
    EXPLOITS,
    HOSTS,
    Activity,
    Belief,
    Decoy,
    Exploit,
    Red,
    RedAction,
    Subnet,
    Success,
    action_name,
)

_WIDTH = 118


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
    title = f"step {step}, red agent {Red(fields['red']).name.lower()}"
    table = Table(title=title, caption=_caption(fields), title_justify="left")
    for name in ("host", "red has", "red knows", "decoys", "blue believes", "blue saw"):
        table.add_column(name, no_wrap=name != "decoys")
    for h, host in enumerate(HOSTS):
        access = _access(fields, h)
        table.add_row(
            host.name,
            access,
            _known(fields, h),
            _decoys(fields, h),
            Belief(fields["comp"][h]).name.capitalize(),
            Activity(fields["alert"]).name.capitalize() if fields["alert_host"] == h else "",
            style="red" if "root" in access and host.confidentiality else None,
        )
    return table


def _caption(fields: dict[str, Any]) -> str:
    lines = []
    if fields["blue_action"] >= 0:
        blue = action_name(fields["blue_action"])
        lines.append(f"blue: {blue} ({_answer(fields['blue_success'])})")
        lines.append(f"red: {_red_action(fields)} ({_answer(fields['red_success'])})")
    if fields["ot_stopped"]:
        lines.append("the OT service of Op_Server0 is DOWN (-10 per step)")
    return "\n".join(lines) or "no action yet"


def _red_action(fields: dict[str, Any]) -> str:
    text = RedAction(fields["red_type"]).name.title().replace("_", "")
    if fields["red_subnet"] >= 0:
        text += f" {Subnet(fields['red_subnet']).name.capitalize()}"
    if fields["red_host"] >= 0:
        text += f" {HOSTS[fields['red_host']].name}"
    if fields["exploit"] >= 0:
        text += f" with {EXPLOITS[Exploit(fields['exploit'])].name}"
    return text


def _access(fields: dict[str, Any], h: int) -> str:
    parts = [
        f"{fields[name][h]} {label}"
        for name, label in (("root", "root"), ("sus", "seen"), ("oth", "unseen"))
        if fields[name][h]
    ]
    if fields["mal"][h]:
        parts.append("file")
    return ", ".join(parts)


def _known(fields: dict[str, Any], h: int) -> str:
    names = (("kip", "address"), ("rscan", "ports"), ("khost", "name"))
    return ", ".join(label for name, label in names if fields[name][h])


def _decoys(fields: dict[str, Any], h: int) -> str:
    planted = [DECOYS[kind].name for kind in Decoy if fields["dec"][h] >> kind & 1]
    return ", ".join(name.removeprefix("Decoy") for name in planted)


def _answer(success: int) -> str:
    return Success(success).name.capitalize()
