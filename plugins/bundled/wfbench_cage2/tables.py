"""The scenario in readable form: hosts, services, exploits, decoys, actions.

Every fact about CAGE Challenge 2 ("Scenario2", blue seat) stands here once; `lookup` derives the
arrays for the compiled rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

Subnet = IntEnum("Subnet", "ENTERPRISE OPERATIONAL USER", start=0)
"""Subnets, in the order in which Meander looks at them."""

Unit = IntEnum("Unit", "DEFENDER ENTERPRISE OP_SERVER OP_HOST USER", start=0)
"""Unit types that a workflow ranks, in canonical order."""

Exploit = IntEnum(
    "Exploit",
    "ETERNAL_BLUE BLUE_KEEP HTTP_RFI HTTPS_RFI SSH_BRUTE_FORCE SQL_INJECTION HARAKA_RCE "
    "FTP_DIRECTORY_TRAVERSAL",
    start=0,
)
"""Exploits red chooses from."""

Decoy = IntEnum("Decoy", "APACHE FEMITTER HARAKA_SMPT SMSS SSHD SVCHOST TOMCAT VSFTPD", start=0)
"""Decoys blue can plant."""

Level = IntEnum("Level", "NONE USER ROOT")
"""Privilege of the session that exploiting a service gives."""

Belief = IntEnum("Belief", "NO UNKNOWN USER PRIVILEGED", start=0)
"""What blue's table says of a host."""

Activity = IntEnum("Activity", "NONE SCAN EXPLOIT", start=0)
"""What blue saw on a host in this step."""

Success = IntEnum("Success", "FALSE TRUE UNKNOWN", start=0)
"""How an action answered."""

RedAction = IntEnum(
    "RedAction",
    "SLEEP DISCOVER_REMOTE_SYSTEMS DISCOVER_NETWORK_SERVICES EXPLOIT_REMOTE_SERVICE "
    "PRIVILEGE_ESCALATE IMPACT",
    start=0,
)
"""Kinds of red action."""

Red = IntEnum("Red", "BLINE MEANDER SLEEP", start=0)
"""Red agents."""

PORTS = (139, 3389, 80, 443, 22, 3390, 25, 21)
"""Ports that matter to an exploit; bit i of a port set is PORTS[i]."""


@dataclass(frozen=True)
class ExploitRule:
    """What enables an exploit, and how strongly red prefers it."""

    name: str
    port: int
    weight: float
    also_one_of: tuple[int, ...] = ()


EXPLOITS: dict[Exploit, ExploitRule] = {
    Exploit.ETERNAL_BLUE: ExploitRule("EternalBlue", 139, 2),
    Exploit.BLUE_KEEP: ExploitRule("BlueKeep", 3389, 1),
    Exploit.HTTP_RFI: ExploitRule("HTTPRFI", 80, 3),
    Exploit.HTTPS_RFI: ExploitRule("HTTPSRFI", 443, 4),
    Exploit.SSH_BRUTE_FORCE: ExploitRule("SSHBruteForce", 22, 0.1),
    Exploit.SQL_INJECTION: ExploitRule("SQLInjection", 3390, 5, also_one_of=(80, 443)),
    Exploit.HARAKA_RCE: ExploitRule("HarakaRCE", 25, 6),
    Exploit.FTP_DIRECTORY_TRAVERSAL: ExploitRule("FTPDirectoryTraversal", 21, 7),
}

TOP_EXPLOIT_PROBABILITY = 0.75
DETECTION_PROBABILITY = 0.95


@dataclass(frozen=True)
class DecoyRule:
    """Where a decoy fits and what it answers to. Vsftpd checks one port and opens another."""

    name: str
    checks_port: int
    os: str | None
    opens_port: int
    defeats: Exploit
    process: str


DECOYS: dict[Decoy, DecoyRule] = {
    Decoy.APACHE: DecoyRule("Apache", 80, None, 80, Exploit.HTTP_RFI, "apache2"),
    Decoy.FEMITTER: DecoyRule(
        "Femitter", 21, "Windows", 21, Exploit.FTP_DIRECTORY_TRAVERSAL, "femitter.exe"
    ),
    Decoy.HARAKA_SMPT: DecoyRule("HarakaSMPT", 25, "Linux", 25, Exploit.HARAKA_RCE, "haraka"),
    Decoy.SMSS: DecoyRule("Smss", 139, "Windows", 139, Exploit.ETERNAL_BLUE, "smss.exe"),
    Decoy.SSHD: DecoyRule("SSHD", 22, None, 22, Exploit.SSH_BRUTE_FORCE, "sshd"),
    Decoy.SVCHOST: DecoyRule("Svchost", 3389, "Windows", 3389, Exploit.BLUE_KEEP, "svchost.exe"),
    Decoy.TOMCAT: DecoyRule("Tomcat", 443, None, 443, Exploit.HTTPS_RFI, "tomcat"),
    Decoy.VSFTPD: DecoyRule("Vsftpd", 21, "Linux", 80, Exploit.HTTP_RFI, "vsftpd"),
}


def decoys_in(planted: int) -> list[DecoyRule]:
    """Return the decoys of a set."""
    return [rule for kind, rule in DECOYS.items() if planted >> kind & 1]


@dataclass(frozen=True)
class Service:
    """A listening process. `exploit` is None where the port is open but nothing works on it."""

    port: int
    process: str
    exploit: Exploit | None
    level: Level = Level.NONE


_SSH = Service(22, "sshd", Exploit.SSH_BRUTE_FORCE, Level.USER)
_HTTP = Service(80, "apache2", Exploit.HTTP_RFI, Level.USER)
_HTTPS = Service(443, "tomcat", Exploit.HTTPS_RFI, Level.USER)
_HARAKA = Service(25, "haraka", Exploit.HARAKA_RCE, Level.ROOT)
_FTP = Service(21, "femitter.exe", Exploit.FTP_DIRECTORY_TRAVERSAL, Level.ROOT)
_ENTERPRISE_WINDOWS = (
    _SSH,
    Service(3389, "svchost.exe", Exploit.BLUE_KEEP, Level.ROOT),
    Service(139, "smss.exe", None),
    _HTTP,
    _HTTPS,
)


@dataclass(frozen=True)
class Host:
    """One of the thirteen hosts.

    `confidentiality` is the cost per step, in tenths, while red is root there; `next_hop` is the
    host whose address an escalation here reveals.
    """

    name: str
    os: str
    confidentiality: int
    services: tuple[Service, ...]
    next_hop: str | None = None

    @property
    def unit(self) -> Unit:
        """Return the unit type, which the name begins with."""
        return Unit[self.name.rstrip("0123456789").upper()]

    @property
    def subnet(self) -> Subnet:
        """Return the subnet of its unit type."""
        if self.unit in (Unit.OP_SERVER, Unit.OP_HOST):
            return Subnet.OPERATIONAL
        return Subnet.USER if self.unit is Unit.USER else Subnet.ENTERPRISE

    @property
    def weak_account(self) -> str | None:
        """Return the account whose password can be guessed."""
        if self.unit is Unit.DEFENDER:
            return None
        return "vagrant" if self.os == "Windows" else "pi"


_USER2 = (
    Service(139, "smss.exe", Exploit.ETERNAL_BLUE, Level.ROOT),
    Service(3389, "svchost.exe", Exploit.BLUE_KEEP, Level.USER),
)
_USER3 = (_HARAKA, _HTTPS, _HTTP, Service(3389, "mysql", None))
_SQL = Service(3390, "mysql", Exploit.SQL_INJECTION, Level.ROOT)

HOSTS: tuple[Host, ...] = (
    Host("Defender", "Linux", 1, (Service(22, "sshd", Exploit.SSH_BRUTE_FORCE),)),
    Host("Enterprise0", "Linux", 10, (_SSH,)),
    Host("Enterprise1", "Windows", 10, _ENTERPRISE_WINDOWS),
    Host("Enterprise2", "Windows", 10, _ENTERPRISE_WINDOWS, next_hop="Op_Server0"),
    *(Host(f"Op_Host{i}", "Linux", 1, (_SSH,)) for i in range(3)),
    Host("Op_Server0", "Linux", 10, (_SSH,)),
    Host("User0", "Windows", 0, (_FTP, _SSH)),
    Host("User1", "Windows", 1, (_FTP, _SSH), next_hop="Enterprise1"),
    Host("User2", "Windows", 1, _USER2, next_hop="Enterprise1"),
    Host("User3", "Linux", 1, _USER3, next_hop="Enterprise0"),
    Host("User4", "Linux", 1, (_HARAKA, _SQL, _HTTPS, _HTTP, _SSH), next_hop="Enterprise0"),
)

NUM_HOSTS = len(HOSTS)
HOST_ID = {host.name: index for index, host in enumerate(HOSTS)}
UNIT_NAMES = tuple(unit.name.lower() for unit in Unit)
RED_NAMES = tuple(red.name.lower() for red in Red)

FOOTHOLD = HOST_ID["User0"]
OP_SERVER = HOST_ID["Op_Server0"]
OT_STOPPED_COST = 100
RESTORE_COST = 10
"""Costs are in tenths."""

SLEEP = 0
MONITOR = 1
ANALYSE = 2
REMOVE = 15
DECOY = 28
RESTORE = 132
NUM_ACTIONS = 145
OBS_SIZE = 4 * NUM_HOSTS
"""Action index = base + host id; decoy kind k starts at DECOY + 13 * k."""

MEMORY_STEPS = 16
"""Memory tells only the first steps of an episode apart."""
HISTORY_QUIET = 4
HISTORY_PERIODS = 10
PERIOD_STEPS = 10
"""History tells so many steps since the last alarm apart, and so many periods of an episode."""

_REDUCED_HOSTS = (
    *("Defender", "Enterprise0", "Enterprise1", "Enterprise2", "Op_Server0"),
    *("User1", "User2", "User3", "User4"),
)
REDUCED_ACTIONS: tuple[int, ...] = (
    *(base + HOST_ID[name] for base in (ANALYSE, REMOVE, RESTORE) for name in _REDUCED_HOSTS),
    *(RESTORE + HOST_ID[f"Op_Host{i}"] for i in range(3)),
    *(-1 - HOST_ID[name] for name in _REDUCED_HOSTS),
)
"""The useful actions; -1 - h plants the best decoy that host h still lacks."""

BLINE_PLAN: tuple[tuple[RedAction, str], ...] = (
    (RedAction.DISCOVER_REMOTE_SYSTEMS, "user subnet"),
    (RedAction.DISCOVER_NETWORK_SERVICES, "u"),
    (RedAction.EXPLOIT_REMOTE_SERVICE, "u"),
    (RedAction.PRIVILEGE_ESCALATE, "u"),
    (RedAction.DISCOVER_NETWORK_SERVICES, "e"),
    (RedAction.EXPLOIT_REMOTE_SERVICE, "e"),
    (RedAction.PRIVILEGE_ESCALATE, "e"),
    (RedAction.DISCOVER_REMOTE_SYSTEMS, "enterprise subnet"),
    (RedAction.DISCOVER_NETWORK_SERVICES, "Enterprise2"),
    (RedAction.EXPLOIT_REMOTE_SERVICE, "Enterprise2"),
    (RedAction.PRIVILEGE_ESCALATE, "Enterprise2"),
    (RedAction.DISCOVER_NETWORK_SERVICES, "Op_Server0"),
    (RedAction.EXPLOIT_REMOTE_SERVICE, "Op_Server0"),
    (RedAction.PRIVILEGE_ESCALATE, "Op_Server0"),
    (RedAction.IMPACT, "Op_Server0"),
)
"""B_line's plan; `u` is the user host it drew and `e` that host's next hop."""

BLINE_FALLBACK = (0, 1, 2, 2, 2, 2, 5, 5, 5, 5, 9, 9, 9, 12, 13)
"""Where B_line continues after an action that did not succeed."""


ACTION_KINDS = ("Analyse", "Remove", *(f"Decoy{rule.name}" for rule in DECOYS.values()), "Restore")
"""Kinds of blue action that have a host: 13 actions each, from `ANALYSE` on."""


def action_name(action: int) -> str:
    """Return the name of a blue action."""
    if action < ANALYSE:
        return "Monitor" if action == MONITOR else "Sleep"
    kind, host = divmod(action - ANALYSE, NUM_HOSTS)
    return f"{ACTION_KINDS[kind]} {HOSTS[host].name}"
