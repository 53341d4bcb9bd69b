"""What an environment costs, and spending that time and size on purpose."""

from __future__ import annotations

import os
import pickle
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wfbench.contract import OWNER_VARIABLE

_PROBE = 64


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes that one environment costs."""

    construct: float = 0.0
    reset: float = 0.0
    step: float = 0.0
    true_state: float = 0.0
    true_state_bytes: int = 0


PRESETS = {
    "none": Costs(),
    "cyborg": Costs(0.245, 0.017, 0.003, 0.0018, 13_000),
}
"""`cyborg` has the costs measured of the CAGE-2 simulator on one core."""


def spend(seconds: float, *, busy: bool) -> None:
    """Use `seconds` of this thread's CPU time, or sleep as long.

    Busy time is CPU time, not wall time: with too few cores it takes longer, as real work would.
    """
    if seconds <= 0:
        return
    if not busy:
        time.sleep(seconds)
        return
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def slowed(costs: Costs, file: str) -> Costs:
    """Multiply the costs of a step by the factor in `file`, if it exists and this is a worker.

    Tests use it to prove that the gate notices a slow collector. The factor is in a file, not an
    option: an option would make it another case, and no regression of the same case.
    """
    if not file or OWNER_VARIABLE not in os.environ:
        return costs
    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        return costs
    factor = float(text)
    if not factor > 0:
        raise ValueError(f"{file} holds {text.strip()}; a factor must be positive")
    return replace(costs, step=costs.step * factor)


class TrueState:
    """Builds nested states whose pickle has about `size` bytes, spread over processes of hosts."""

    def __init__(self, hosts: tuple[str, ...], size: int) -> None:
        self._hosts = hosts
        self._processes = 0
        if size > 0 and self._hosts:
            bare = len(pickle.dumps(self.of(0)))
            self._processes = _PROBE
            each = (len(pickle.dumps(self.of(0))) - bare) / _PROBE
            self._processes = max(0, round((size - bare) / each))

    def of(self, compromised: int) -> dict[str, Any]:
        """Return the state in which these hosts are compromised."""
        hosts = {
            name: {"compromised": bool(compromised >> index & 1), "processes": []}
            for index, name in enumerate(self._hosts)
        }
        names = list(hosts)
        for pid in range(self._processes):
            process = {"pid": 1000 + pid, "user": f"user-{pid}", "ports": [4000 + pid]}
            hosts[names[pid % len(names)]]["processes"].append(process)  # type: ignore[attr-defined]
        return hosts
