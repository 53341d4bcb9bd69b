"""The thirteen hosts as a table a person can read: what is true beside what blue believes."""

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
_KIND_NAMES = {
    RedAction.SLEEP: "Sleep",
    RedAction.DISCOVER_REMOTE_SYSTEMS: "DiscoverRemoteSystems",
    RedAction.DISCOVER_NETWORK_SERVICES: "DiscoverNetworkServices",
    RedAction.EXPLOIT_REMOTE_SERVICE: "ExploitRemoteService",
    RedAction.PRIVILEGE_ESCALATE: "PrivilegeEscalate",
    RedAction.IMPACT: "Impact",
}


def table_text(state: NDArray[np.int16], step: int) -> str:
    """The table as plain text."""
    sink = io.StringIO()
    console = Console(file=sink, width=_WIDTH, color_system=None, legacy_windows=False)
    console.print(_table(unpack(state), step))
    return sink.getvalue()


def print_table(state: NDArray[np.int16], step: int) -> None:
    """Print the table to the terminal."""
    Console().print(_table(unpack(state), step))


def _table(fields: dict[str, Any], step: int) -> Table:
    table = Table(title=_title(fields, step), caption=_caption(fields), title_justify="left")
    table.add_column("host", no_wrap=True)
    table.add_column("red has", no_wrap=True)
    table.add_column("red knows", no_wrap=True)
    table.add_column("decoys")
    table.add_column("blue believes", no_wrap=True)
    table.add_column("blue saw", no_wrap=True)
    for h, host in enumerate(HOSTS):
        access = _access(fields, h)
        table.add_row(
            host.name,
            access,
            _known(fields, h),
            ", ".join(_decoy_name(kind) for kind in Decoy if fields["dec"][h] >> kind & 1),
            _words(Belief(fields["comp"][h]).name),
            _seen(fields, h),
            style="red" if "root" in access and host.confidentiality else None,
        )
    return table


def _title(fields: dict[str, Any], step: int) -> str:
    return f"step {step}, red agent {Red(fields['red']).name.lower()}"


def _caption(fields: dict[str, Any]) -> str:
    lines = []
    if fields["blue_action"] >= 0:
        blue = action_name(fields["blue_action"])
        lines.append(f"blue: {blue} ({_words(Success(fields['blue_success']).name)})")
        lines.append(f"red: {_red_action(fields)} ({_words(Success(fields['red_success']).name)})")
    if fields["ot_stopped"]:
        lines.append("the OT service of Op_Server0 is DOWN (-10 per step)")
    return "\n".join(lines) or "no action yet"


def _red_action(fields: dict[str, Any]) -> str:
    text = _KIND_NAMES[RedAction(fields["red_type"])]
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


def _seen(fields: dict[str, Any], h: int) -> str:
    if fields["alert_host"] != h:
        return ""
    return _words(Activity(fields["alert"]).name)


def _decoy_name(kind: Decoy) -> str:
    return DECOYS[kind].name.removeprefix("Decoy")


def _words(name: str) -> str:
    return name.capitalize()
