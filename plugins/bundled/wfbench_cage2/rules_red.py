"""Red's actions, all executed from its foothold on User0."""

from __future__ import annotations

import numpy as np

from . import draws, lookup, tables
from .compiling import part
from .draws import Tape, on_tape
from .layout import AT, State
from .rules_blue import COUNT_LIMIT, note_sessions, ports

_FALSE, _TRUE, _UNKNOWN = map(int, tables.Success)
_, _SCAN, _EXPLOIT_SEEN = map(int, tables.Activity)
_OPERATIONAL = int(tables.Subnet.OPERATIONAL)
_ROOT_LEVEL = int(tables.Level.ROOT)
_SSH = int(tables.Exploit.SSH_BRUTE_FORCE)
_, _DISCOVER_SYSTEMS, _DISCOVER_SERVICES, _EXPLOIT, _ESCALATE, _IMPACT = map(int, tables.RedAction)


@part
def reachable(s: State, subnet: int) -> bool:
    """Tell whether a subnet can be reached: Operational only with a session on Enterprise."""
    ent_access = s[AT.owned] & lookup.ENTERPRISE_HOSTS
    return subnet != _OPERATIONAL or ent_access != 0


@part
def raise_alert(s: State, h: int, activity: int) -> None:
    """Set what blue's automatic Monitor will find on h."""
    s[AT.alert_host] = h
    s[AT.alert] = activity


@part
def add_session(s: State, place: int, h: int) -> None:
    """Add a session of the class whose counts begin at `place`."""
    if s[place + h] < COUNT_LIMIT:
        s[place + h] += 1
    note_sessions(s, h)


@part
def discover_remote_systems(s: State, subnet: int) -> int:
    """Learn the addresses of a subnet."""
    if not reachable(s, subnet):
        return _FALSE
    s[AT.kip] |= lookup.SUBNET_HOSTS[subnet]
    return _TRUE


@part
def discover_network_services(s: State, h: int) -> int:
    """Learn the open ports of h. An unreachable host answers TRUE, with nothing in it."""
    if not reachable(s, lookup.SUBNET[h]):
        s[AT.scan_empty] = 1
        return _TRUE
    s[AT.scan_empty] = 0
    s[AT.rports + h] = ports(s, h)
    s[AT.rscan] |= 1 << h
    raise_alert(s, h, _SCAN)
    return _TRUE


@part
def select_exploit(s: State, h: int, key: np.uint64, tape: Tape) -> int:
    """Choose among the exploits that red's remembered ports enable."""
    options = lookup.ENABLED[s[AT.rports + h]]
    count = draws.count_bits(options)
    top = lookup.TOP_EXPLOIT[options]
    if count == 1:
        return top
    recorded = on_tape(s, tape, draws.SELECT_EXPLOIT, options)
    if recorded != draws.UNRECORDED:
        return recorded
    draw = draws.uniform(key, draws.SELECT_EXPLOIT)
    if draw < tables.TOP_EXPLOIT_PROBABILITY:
        return top
    share = (draw - tables.TOP_EXPLOIT_PROBABILITY) / (1.0 - tables.TOP_EXPLOIT_PROBABILITY)
    return draws.nth_member(options & ~(1 << top), int(share * (count - 1)))


@part
def ssh_brute_force(s: State, h: int) -> int:
    """Try passwords: always noisy; works on the host's own sshd if an account is weak."""
    raise_alert(s, h, _EXPLOIT_SEEN)
    if not lookup.GENUINE[h, _SSH] or not lookup.WEAK_ACCOUNT[h]:
        return _FALSE
    add_session(s, AT.oth, h)
    return _TRUE


@part
def detected(s: State, key: np.uint64, tape: Tape) -> bool:
    """Draw whether blue sees the reverse shell."""
    seen = on_tape(s, tape, draws.DETECTION, 0b11)
    if seen == draws.UNRECORDED:
        seen = int(draws.uniform(key, draws.DETECTION) < tables.DETECTION_PROBABILITY)
    s[AT.detect] = seen
    return seen != 0


@part
def reverse_shell(s: State, h: int, exploit: int, key: np.uint64, tape: Tape) -> int:
    """Exploit a genuine service: it always works, and drops a file."""
    s[AT.mal] |= 1 << h
    seen = detected(s, key, tape)
    raise_alert(s, h, _EXPLOIT_SEEN if seen else _SCAN)
    user_level = AT.sus if seen else AT.oth
    root = lookup.GENUINE_LEVEL[h, exploit] == _ROOT_LEVEL
    add_session(s, AT.root if root else user_level, h)
    return _TRUE


@part
def exploit_remote_service(s: State, h: int, key: np.uint64, tape: Tape) -> int:
    """Exploit a scanned host: the choice comes before reachability, the process before decoys."""
    if not s[AT.rscan] >> h & 1:
        return _FALSE
    exploit = select_exploit(s, h, key, tape)
    s[AT.exploit] = exploit
    if not reachable(s, lookup.SUBNET[h]):
        return _FALSE
    genuine = lookup.GENUINE[h, exploit]
    if not genuine and not s[AT.dec + h] & lookup.DECOYS_DEFEATING[exploit]:
        return _FALSE
    if exploit == _SSH:
        success = ssh_brute_force(s, h)
    elif genuine:
        success = reverse_shell(s, h, exploit, key, tape)
    else:
        raise_alert(s, h, _EXPLOIT_SEEN if s[AT.planted] == h else _SCAN)
        success = _FALSE
    if success == _TRUE:
        s[AT.khost] |= 1 << h
        s[AT.kip] |= 1 << h
    return success


@part
def escalated_is_suspicious(s: State, h: int, key: np.uint64, tape: Tape) -> bool:
    """Draw the class of the session that becomes root."""
    suspicious = s[AT.sus + h]
    other = s[AT.oth + h]
    recorded = on_tape(s, tape, draws.ESCALATION, (other > 0) | (suspicious > 0) << 1)
    if recorded != draws.UNRECORDED:
        return recorded != 0
    return draws.uniform(key, draws.ESCALATION) * (suspicious + other) < suspicious


@part
def privilege_escalate(s: State, h: int, key: np.uint64, tape: Tape) -> int:
    """Make a session root if none is, then look around from there."""
    if not s[AT.owned] >> h & 1:
        return _FALSE
    if s[AT.root + h] == 0:
        suspicious = escalated_is_suspicious(s, h, key, tape)
        s[AT.esc_sus] = 1 if suspicious else 0
        s[(AT.sus if suspicious else AT.oth) + h] -= 1
        s[AT.root + h] = 1
        note_sessions(s, h)
        s[AT.mal] |= 1 << h
    s[AT.ksub] |= 1 << lookup.SUBNET[h]
    s[AT.kip] |= lookup.REVEALED[h]
    if h == tables.OP_SERVER:
        s[AT.ot_known] = 1
    return _TRUE


@part
def impact(s: State) -> int:
    """Stop the OT service; once Op_Server0 was restored its process can no longer be stopped."""
    if not s[AT.owned] >> tables.OP_SERVER & 1 or not s[AT.ot_known]:
        return _FALSE
    if s[AT.ot_active]:
        s[AT.ot_active] = 0
        if s[AT.ot_pid]:
            s[AT.ot_stopped] = 1
    return _TRUE


@part
def red_execute(s: State, key: np.uint64, tape: Tape) -> None:
    """Execute the action that the red agent has chosen."""
    kind = s[AT.red_type]
    h = s[AT.red_host]
    if kind == _DISCOVER_SYSTEMS:
        s[AT.red_success] = discover_remote_systems(s, s[AT.red_subnet])
    elif kind == _DISCOVER_SERVICES:
        s[AT.red_success] = discover_network_services(s, h)
    elif kind == _EXPLOIT:
        s[AT.red_success] = exploit_remote_service(s, h, key, tape)
    elif kind == _ESCALATE:
        s[AT.red_success] = privilege_escalate(s, h, key, tape)
    elif kind == _IMPACT:
        s[AT.red_success] = impact(s)
    else:
        s[AT.red_success] = _UNKNOWN
