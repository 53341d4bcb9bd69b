"""Where each field of the specification stands in an environment's integer state.

The state of one environment is one row of int16. Sets of hosts or subnets are bit masks.
"""

from __future__ import annotations

from collections import namedtuple
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .tables import NUM_HOSTS, Subnet

StateLayout = namedtuple(  # noqa: PYI024 - typed fields would say nothing but int
    "StateLayout",
    "sus oth root dec vsftpd rports comp met_dec "
    "owned rooted mal rscan kip khost ksub "
    "ot_stopped ot_active ot_pid ot_known "
    "red bline_a bline_has12 bline_u scan_empty "
    "mdr_s mdr_p mdr_x mdr_l mdr_m mdr_last_x mdr_last_h "
    "blue_action blue_success planted analysed ended_session "
    "red_type red_host red_subnet red_success exploit detect esc_sus "
    "alert_host alert seen_exploit last_alarm tape_error "
    "alarmed again last_kind earlier_alarm earlier_kind quiet_steps",
)
"""Where each field begins. Those of the first line have one number per host, the others one."""

_PER_HOST = StateLayout._fields.index("owned")
_FIRST_SINGLE = _PER_HOST * NUM_HOSTS
STATE_SIZE = _FIRST_SINGLE + len(StateLayout._fields) - _PER_HOST

State = NDArray[np.int16]
_places = StateLayout(*range(0, _FIRST_SINGLE, NUM_HOSTS), *range(_FIRST_SINGLE, STATE_SIZE))
# Compiled code copies all of a tuple wherever it reads a field, but only what it reads of a module.
_module = ModuleType("places")
vars(_module).update(_places._asdict())
AT = cast("StateLayout", _module)

_SETS = {
    **dict.fromkeys(("owned", "rooted", "mal", "rscan", "kip", "khost"), NUM_HOSTS),
    **dict.fromkeys(("seen_exploit", "alarmed", "again"), NUM_HOSTS),
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
