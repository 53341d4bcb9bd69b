"""Where each field of the specification stands in an environment's integer state.

The state of one environment is one row of int16. Fields of one number per host take 13 places;
sets of hosts or subnets are bit masks in one place. `FIELDS` is the whole layout, `unpack` makes
a row readable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tables import NUM_HOSTS

_PER_HOST = ("sus", "oth", "root", "dec", "vsftpd", "rports", "comp")
_SINGLE = (
    "owned",
    "rooted",
    "mal",
    "rscan",
    "kip",
    "khost",
    "ksub",
    "ot_stopped",
    "ot_active",
    "ot_pid",
    "ot_known",
    "red",
    "bline_a",
    "bline_has12",
    "bline_u",
    "scan_empty",
    "mdr_s",
    "mdr_p",
    "mdr_x",
    "mdr_l",
    "mdr_m",
    "mdr_last_x",
    "mdr_last_h",
    "blue_action",
    "blue_success",
    "planted",
    "analysed",
    "ended_session",
    "red_type",
    "red_host",
    "red_subnet",
    "red_success",
    "exploit",
    "detect",
    "esc_sus",
    "alert_host",
    "alert",
    "seen_exploit",
    "last_alarm",
    "tape_error",
)

FIELDS: dict[str, slice] = {}
for _index, _name in enumerate(_PER_HOST):
    FIELDS[_name] = slice(_index * NUM_HOSTS, (_index + 1) * NUM_HOSTS)
for _index, _name in enumerate(_SINGLE, start=len(_PER_HOST) * NUM_HOSTS):
    FIELDS[_name] = slice(_index, _index + 1)

STATE_SIZE = len(_PER_HOST) * NUM_HOSTS + len(_SINGLE)

HOST_SETS = (
    *("owned", "rooted", "mal", "rscan", "kip", "khost", "seen_exploit"),
    *("mdr_p", "mdr_x", "mdr_l", "mdr_m"),
)
SUBNET_SETS = ("ksub", "mdr_s")

(SUS, OTH, ROOT, DEC, VSFTPD, RPORTS, COMP) = (FIELDS[name].start for name in _PER_HOST)
(
    OWNED,
    ROOTED,
    MAL,
    RSCAN,
    KIP,
    KHOST,
    KSUB,
    OT_STOPPED,
    OT_ACTIVE,
    OT_PID,
    OT_KNOWN,
    RED,
    BLINE_A,
    BLINE_HAS12,
    BLINE_U,
    SCAN_EMPTY,
    MDR_S,
    MDR_P,
    MDR_X,
    MDR_L,
    MDR_M,
    MDR_LAST_X,
    MDR_LAST_H,
    BLUE_ACTION,
    BLUE_SUCCESS,
    PLANTED,
    ANALYSED,
    ENDED_SESSION,
    RED_TYPE,
    RED_HOST,
    RED_SUBNET,
    RED_SUCCESS,
    EXPLOIT,
    DETECT,
    ESC_SUS,
    ALERT_HOST,
    ALERT,
    SEEN_EXPLOIT,
    LAST_ALARM,
    TAPE_ERROR,
) = (FIELDS[name].start for name in _SINGLE)


def unpack(state: NDArray[np.int16]) -> dict[str, Any]:
    """A state row by field name: arrays of 13 per host (sets as 0/1), plain ints otherwise."""
    fields: dict[str, Any] = {}
    for name, place in FIELDS.items():
        values = state[place]
        if name in HOST_SETS:
            fields[name] = values[0] >> np.arange(NUM_HOSTS) & 1
        elif name in SUBNET_SETS:
            fields[name] = values[0] >> np.arange(3) & 1
        else:
            fields[name] = values.copy() if len(values) > 1 else int(values[0])
    return fields
