"""The nested true state, in the shape of the original simulator's.

wfbench measures designs that send this dictionary with every step, so keys, value types and pickled
size follow the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .layout import unpack
from .tables import HOSTS, OP_SERVER, Host, Subnet, Success, Unit, decoys_in

_RED_PORT = 4444
_DAEMONS = {Unit.DEFENDER: 29, Unit.USER: 0}
_PID_COUNT = 32467


Name = Enum(
    "Name",
    "TRUE FALSE UNKNOWN LINUX WINDOWS UBUNTU WINDOWS_SVR_2008 U18_04_3 W6_1_7601 X64 TCP SSH SMB "
    "RDP WEBSERVER FEMITTER SMTP MYSQL SYSTEMD SHELL RED_REVERSE_SHELL BLUE_MONITOR",
)
"""Names that are enumeration members in the original simulator."""

_PROCESS_TYPE = {
    "sshd": Name.SSH,
    "smss.exe": Name.SMB,
    "svchost.exe": Name.RDP,
    "apache2": Name.WEBSERVER,
    "tomcat": Name.WEBSERVER,
    "vsftpd": Name.WEBSERVER,
    "femitter.exe": Name.FEMITTER,
    "haraka": Name.SMTP,
    "mysql": Name.MYSQL,
    "systemd": Name.SYSTEMD,
    "shell": Name.RED_REVERSE_SHELL,
    "velociraptor": Name.BLUE_MONITOR,
}
_SESSION_PROCESS = {"Red": "shell", "Blue": "velociraptor", "Green": "explorer"}

Entry = dict[str, Any]


def build_true_state(state: NDArray[np.int16], seed: int, episode: int) -> Entry:
    """Return `success` and one entry per host name.

    Addresses and process ids are drawn per (seed, episode); nothing observable depends on them.
    """
    fields = unpack(state)
    rng = np.random.default_rng([seed, episode])
    networks = _networks(rng)
    truth: Entry = {"success": Name[Success(fields["red_success"]).name]}
    for h, host in enumerate(HOSTS):
        pids = _process_ids(rng)
        address = networks[host.subnet][4 + h]
        sessions = _sessions(fields, h, pids)
        truth[host.name] = {
            "Processes": _processes(fields, h, address, pids, sessions),
            "Interface": _interfaces(host, address, networks),
            "Sessions": sessions,
            "User Info": _users(host),
            "System info": _system(host),
        }
    return truth


def _process_ids(rng: np.random.Generator) -> Iterator[int]:
    """Yield the ids 300..32767 in a drawn order; their count is prime, so every stride works."""
    first, stride = rng.integers(1, _PID_COUNT, 2).tolist()
    return (300 + (first + k * stride) % _PID_COUNT for k in range(_PID_COUNT))


def _networks(rng: np.random.Generator) -> dict[Subnet, IPv4Network]:
    blocks = rng.choice(2**12, len(Subnet), replace=False)
    base = int(IPv4Address("10.0.0.0"))
    return {
        subnet: IPv4Network((base + int(block) * 32, 27))
        for subnet, block in zip(Subnet, blocks, strict=True)
    }


def _administrator(host: Host) -> str:
    return "SYSTEM" if host.os == "Windows" else "root"


def _account(host: Host) -> str:
    return host.weak_account or "ubuntu"


def _sessions(fields: Entry, h: int, pids: Iterator[int]) -> list[Entry]:
    host = HOSTS[h]
    owners = [("Blue", _administrator(host))]
    if host.unit is Unit.USER:
        owners.append(("Green", "GreenAgent"))
    owners += [("Red", _administrator(host))] * int(fields["root"][h])
    owners += [("Red", _account(host))] * int(fields["sus"][h] + fields["oth"][h])
    return [
        {
            "Username": user,
            "ID": number,
            "Timeout": 0,
            "PID": next(pids),
            "Type": Name.RED_REVERSE_SHELL if agent == "Red" else Name.SHELL,
            "Agent": agent,
        }
        for number, (agent, user) in enumerate(owners)
    ]


def _processes(
    fields: Entry, h: int, address: IPv4Address, pids: Iterator[int], sessions: list[Entry]
) -> list[Entry]:
    host = HOSTS[h]
    user = _administrator(host)
    listening = [(service.process, service.port) for service in host.services]
    listening += [(decoy.process, decoy.opens_port) for decoy in decoys_in(fields["dec"][h])]
    daemons = ["OTService"] if h == OP_SERVER and not fields["ot_stopped"] else []
    daemons += ["systemd"] * _DAEMONS.get(host.unit, 1)
    processes = [
        _process(host, next(pids), name, user, [_connection(address, port)])
        for name, port in listening
    ]
    processes += [_process(host, next(pids), name, user, []) for name in daemons]
    for session in sessions:
        links = []
        if session["Agent"] == "Red":
            far_end = {"remote_port": _RED_PORT, "remote_address": address}
            links = [_connection(address, next(pids) + 32768) | far_end]
        name = _SESSION_PROCESS[session["Agent"]]
        processes.append(_process(host, session["PID"], name, session["Username"], links))
    return processes


def _process(host: Host, pid: int, name: str, user: str, connections: list[Entry]) -> Entry:
    kind = _PROCESS_TYPE.get(name, Name.UNKNOWN)
    folder = "C:\\Windows\\System32\\" if host.os == "Windows" else "/usr/sbin/"
    return {
        "PID": pid,
        "PPID": 1,
        "Process Name": name,
        "Known Process": kind,
        "Process Type": kind,
        "Username": user,
        "Path": folder + name,
        "Known Path": Name.UNKNOWN,
        "Connections": connections,
    }


def _connection(address: IPv4Address, port: int) -> Entry:
    return {"local_port": port, "local_address": address, "Transport Protocol": Name.TCP}


def _interface(name: str, address: IPv4Address, network: IPv4Network) -> Entry:
    return {"Interface Name": name, "IP Address": address, "Subnet": network}


def _interfaces(
    host: Host, address: IPv4Address, networks: dict[Subnet, IPv4Network]
) -> list[Entry]:
    reached = list(Subnet) if host.unit is Unit.DEFENDER else [host.subnet]
    addresses = {subnet: network[2] for subnet, network in networks.items()}
    addresses[host.subnet] = address
    return [
        *(
            _interface(f"eth{number}", addresses[subnet], networks[subnet])
            for number, subnet in enumerate(reached)
        ),
        _interface("lo", IPv4Address("127.0.0.1"), IPv4Network("127.0.0.0/8")),
    ]


def _users(host: Host) -> list[Entry]:
    names = [_administrator(host), _account(host)]
    if host.os == "Windows":
        names += ["Administrator", "GreenAgent"]
    else:
        names.append("ubuntu" if host.weak_account else "daemon")
    return [
        {
            "Username": name,
            "Groups": [{"GID": number}],
            "Password": name if name == host.weak_account else f"{name}-{host.name}",
        }
        for number, name in enumerate(names)
    ]


def _system(host: Host) -> Entry:
    windows = host.os == "Windows"
    return {
        "Hostname": host.name,
        "OSType": Name.WINDOWS if windows else Name.LINUX,
        "OSDistribution": Name.WINDOWS_SVR_2008 if windows else Name.UBUNTU,
        "OSVersion": Name.W6_1_7601 if windows else Name.U18_04_3,
        "Architecture": Name.X64,
    }
