"""Where each field of the specification stands in an environment's integer state.

The state of one environment is one row of int16. Sets of hosts or subnets are bit masks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tables import NUM_HOSTS, Subnet


class StateLayout(NamedTuple):
    """Where each field begins. The first seven have one number per host, the others one."""

    sus: int
    oth: int
    root: int
    dec: int
    vsftpd: int
    rports: int
    comp: int
    owned: int
    rooted: int
    mal: int
    rscan: int
    kip: int
    khost: int
    ksub: int
    ot_stopped: int
    ot_active: int
    ot_pid: int
    ot_known: int
    red: int
    bline_a: int
    bline_has12: int
    bline_u: int
    scan_empty: int
    mdr_s: int
    mdr_p: int
    mdr_x: int
    mdr_l: int
    mdr_m: int
    mdr_last_x: int
    mdr_last_h: int
    blue_action: int
    blue_success: int
    planted: int
    analysed: int
    ended_session: int
    red_type: int
    red_host: int
    red_subnet: int
    red_success: int
    exploit: int
    detect: int
    esc_sus: int
    alert_host: int
    alert: int
    seen_exploit: int
    last_alarm: int
    tape_error: int


_PER_HOST = 7
_FIRST_SINGLE = _PER_HOST * NUM_HOSTS
STATE_SIZE = _FIRST_SINGLE + len(StateLayout._fields) - _PER_HOST

AT = StateLayout(*range(0, _FIRST_SINGLE, NUM_HOSTS), *range(_FIRST_SINGLE, STATE_SIZE))

_SETS = {
    **dict.fromkeys(("owned", "rooted", "mal", "rscan", "kip", "khost", "seen_exploit"), NUM_HOSTS),
    **dict.fromkeys(("mdr_p", "mdr_x", "mdr_l", "mdr_m"), NUM_HOSTS),
    **dict.fromkeys(("ksub", "mdr_s"), len(Subnet)),
}
"""Fields that are bit masks, and how many members they may have."""


def read_field(state: NDArray[np.int16], name: str) -> NDArray[np.int16]:
    """Return a field of one state or of many: per host, as 0 or 1 per member of a set, or plain."""
    start: int = getattr(AT, name)
    if start < _FIRST_SINGLE:
        return state[..., start : start + NUM_HOSTS]
    if name in _SETS:
        return state[..., start, None] >> np.arange(_SETS[name], dtype=np.int16) & 1
    return state[..., start]


def unpack(state: NDArray[np.int16]) -> dict[str, Any]:
    """Return a state row by field name: arrays per host or per member of a set, else integers."""
    fields = {name: read_field(state, name) for name in StateLayout._fields}
    return {name: found.copy() if found.ndim else int(found) for name, found in fields.items()}
