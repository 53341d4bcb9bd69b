"""The nested true state: many small objects that add up to a pickled size."""

from __future__ import annotations

import pickle
from typing import Any

from wfbench.contract import WorkflowModel

_PROBE = 64


class TrueState:
    """Builds states whose pickle has about `size` bytes, spread over processes of hosts."""

    def __init__(self, workflow: WorkflowModel, size: int) -> None:
        self._hosts = workflow.hosts
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
