"""Red's actions, all executed from the foothold on User0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiling import rule
from .draws import (
    DETECTION,
    ESCALATION,
    SELECT_EXPLOIT,
    UNRECORDED,
    count_bits,
    nth_member,
    uniform,
)
from .layout import (
    ALERT,
    ALERT_HOST,
    DEC,
    DETECT,
    ESC_SUS,
    EXPLOIT,
    KHOST,
    KIP,
    KSUB,
    MAL,
    OT_ACTIVE,
    OT_KNOWN,
    OT_PID,
    OT_STOPPED,
    OTH,
    OWNED,
    PLANTED,
    RED_HOST,
    RED_SUBNET,
    RED_SUCCESS,
    RED_TYPE,
    ROOT,
    RPORTS,
    RSCAN,
    SCAN_EMPTY,
    SUS,
    TAPE_ERROR,
)
from .lookup import (
    DECOYS_DEFEATING,
    ENABLED,
    ENTERPRISE_HOSTS,
    GENUINE,
    GENUINE_LEVEL,
    NEXT_HOP,
    SUBNET,
    SUBNET_HOSTS,
    TOP_EXPLOIT,
    WEAK_ACCOUNT,
)
from .rules_blue import COUNT_LIMIT, State, note_sessions, ports
from .tables import (
    DETECTION_PROBABILITY,
    OP_SERVER,
    TOP_EXPLOIT_PROBABILITY,
    Activity,
    Exploit,
    Level,
    RedAction,
    Subnet,
    Success,
)

Tape = NDArray[np.int8]

_FALSE = int(Success.FALSE)
_TRUE = int(Success.TRUE)
_UNKNOWN = int(Success.UNKNOWN)
_SCAN = int(Activity.SCAN)
_EXPLOIT_SEEN = int(Activity.EXPLOIT)
_OPERATIONAL = int(Subnet.OPERATIONAL)
_ROOT_LEVEL = int(Level.ROOT)
_SSH = int(Exploit.SSH_BRUTE_FORCE)
_DISCOVER_SYSTEMS = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_DISCOVER_SERVICES = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT_REMOTE_SERVICE)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)


@rule
def ent_access(s: State) -> bool:
    """Whether red holds a session on an Enterprise host, the only way to Operational hosts."""
    return (s[OWNED] & ENTERPRISE_HOSTS) != 0


@rule
def reachable(s: State, subnet: int) -> bool:
    """Whether hosts of a subnet can be reached from the foothold now."""
    return subnet != _OPERATIONAL or ent_access(s)


@rule
def raise_alert(s: State, h: int, activity: int) -> None:
    """What blue's automatic Monitor will find on h."""
    s[ALERT_HOST] = h
    s[ALERT] = activity


@rule
def add_session(s: State, place: int, h: int) -> None:
    """One more session of the class kept at `place`."""
    if s[place + h] < COUNT_LIMIT:
        s[place + h] += 1
    note_sessions(s, h)


@rule
def discover_remote_systems(s: State, subnet: int) -> int:
    """Learn the addresses of a subnet."""
    if not reachable(s, subnet):
        return _FALSE
    s[KIP] |= SUBNET_HOSTS[subnet]
    return _TRUE


@rule
def discover_network_services(s: State, h: int) -> int:
    """Learn the open ports of h. An unreachable host answers TRUE, with nothing in it."""
    if not reachable(s, SUBNET[h]):
        s[SCAN_EMPTY] = 1
        return _TRUE
    s[SCAN_EMPTY] = 0
    s[RPORTS + h] = ports(s, h)
    s[RSCAN] |= 1 << h
    raise_alert(s, h, _SCAN)
    return _TRUE


@rule
def select_exploit(s: State, h: int, key: np.uint64, tape: Tape) -> int:
    """Choose among the exploits that red's remembered ports enable."""
    options = ENABLED[s[RPORTS + h]]
    count = count_bits(options)
    top = TOP_EXPLOIT[options]
    if count == 1:
        return top
    if tape[SELECT_EXPLOIT] != UNRECORDED:
        recorded = tape[SELECT_EXPLOIT]
        if recorded >= 0 and options >> recorded & 1:
            return recorded
        s[TAPE_ERROR] = 1
        return top
    draw = uniform(key, SELECT_EXPLOIT)
    if draw < TOP_EXPLOIT_PROBABILITY:
        return top
    share = (draw - TOP_EXPLOIT_PROBABILITY) / (1.0 - TOP_EXPLOIT_PROBABILITY)
    rest = min(int(share * (count - 1)), count - 2)
    return nth_member(options & ~(1 << top), rest)


@rule
def ssh_brute_force(s: State, h: int) -> int:
    """Always noisy. Works on the host's own sshd if an account is weak; leaves no file."""
    raise_alert(s, h, _EXPLOIT_SEEN)
    if not GENUINE[h, _SSH] or not WEAK_ACCOUNT[h]:
        return _FALSE
    add_session(s, OTH, h)
    return _TRUE


@rule
def detected(s: State, key: np.uint64, tape: Tape) -> bool:
    """Whether blue sees the reverse shell."""
    if tape[DETECTION] == UNRECORDED:
        seen = uniform(key, DETECTION) < DETECTION_PROBABILITY
    else:
        seen = tape[DETECTION] == 1
        if tape[DETECTION] < 0:
            s[TAPE_ERROR] = 1
    s[DETECT] = 1 if seen else 0
    return seen


@rule
def reverse_shell(s: State, h: int, exploit: int, key: np.uint64, tape: Tape) -> int:
    """Exploit a genuine service: it always works, and drops a file."""
    s[MAL] |= 1 << h
    seen = detected(s, key, tape)
    raise_alert(s, h, _EXPLOIT_SEEN if seen else _SCAN)
    if GENUINE_LEVEL[h, exploit] == _ROOT_LEVEL:
        add_session(s, ROOT, h)
    elif seen:
        add_session(s, SUS, h)
    else:
        add_session(s, OTH, h)
    return _TRUE


@rule
def exploit_remote_service(s: State, h: int, key: np.uint64, tape: Tape) -> int:
    """Exploit a scanned host: the choice comes before reachability, the process before decoys."""
    if not s[RSCAN] >> h & 1:
        return _FALSE
    exploit = select_exploit(s, h, key, tape)
    s[EXPLOIT] = exploit
    if not reachable(s, SUBNET[h]):
        return _FALSE
    genuine = GENUINE[h, exploit]
    if not genuine and not s[DEC + h] & DECOYS_DEFEATING[exploit]:
        return _FALSE
    if exploit == _SSH:
        success = ssh_brute_force(s, h)
    elif genuine:
        success = reverse_shell(s, h, exploit, key, tape)
    else:
        raise_alert(s, h, _EXPLOIT_SEEN if s[PLANTED] == h else _SCAN)
        success = _FALSE
    if success == _TRUE:
        s[KHOST] |= 1 << h
        s[KIP] |= 1 << h
    return success


@rule
def escalated_is_suspicious(s: State, h: int, key: np.uint64, tape: Tape) -> bool:
    """Which class the session that becomes root is of."""
    suspicious = s[SUS + h]
    other = s[OTH + h]
    if tape[ESCALATION] == UNRECORDED:
        return uniform(key, ESCALATION) * (suspicious + other) < suspicious
    chosen = tape[ESCALATION] == 1
    if tape[ESCALATION] < 0 or (suspicious if chosen else other) == 0:
        s[TAPE_ERROR] = 1
        return suspicious > 0
    return chosen


@rule
def privilege_escalate(s: State, h: int, key: np.uint64, tape: Tape) -> int:
    """Make a session root if none is, then look around from there."""
    if not s[OWNED] >> h & 1:
        return _FALSE
    if s[ROOT + h] == 0:
        suspicious = escalated_is_suspicious(s, h, key, tape)
        s[ESC_SUS] = 1 if suspicious else 0
        s[(SUS if suspicious else OTH) + h] -= 1
        s[ROOT + h] = 1
        note_sessions(s, h)
        s[MAL] |= 1 << h
    s[KSUB] |= 1 << SUBNET[h]
    s[KIP] |= 1 << h
    if NEXT_HOP[h] >= 0:
        s[KIP] |= 1 << NEXT_HOP[h]
    if h == OP_SERVER:
        s[OT_KNOWN] = 1
    return _TRUE


@rule
def impact(s: State) -> int:
    """Stop the OT service; once Op_Server0 was restored its process can no longer be stopped."""
    if not s[OWNED] >> OP_SERVER & 1 or not s[OT_KNOWN]:
        return _FALSE
    if s[OT_ACTIVE]:
        s[OT_ACTIVE] = 0
        if s[OT_PID]:
            s[OT_STOPPED] = 1
    return _TRUE


@rule
def red_execute(s: State, key: np.uint64, tape: Tape) -> None:
    """Execute the action that the red agent has chosen."""
    kind = s[RED_TYPE]
    h = s[RED_HOST]
    if kind == _DISCOVER_SYSTEMS:
        s[RED_SUCCESS] = discover_remote_systems(s, s[RED_SUBNET])
    elif kind == _DISCOVER_SERVICES:
        s[RED_SUCCESS] = discover_network_services(s, h)
    elif kind == _EXPLOIT:
        s[RED_SUCCESS] = exploit_remote_service(s, h, key, tape)
    elif kind == _ESCALATE:
        s[RED_SUCCESS] = privilege_escalate(s, h, key, tape)
    elif kind == _IMPACT:
        s[RED_SUCCESS] = impact(s)
    else:
        s[RED_SUCCESS] = _UNKNOWN
