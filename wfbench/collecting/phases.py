"""Where the time of one `collect` goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from wfbench.contract import Counters


@dataclass
class Phases:
    """Adds up seconds and traffic; whatever nobody claimed of the wall time is idle."""

    env: float = 0.0
    transport: float = 0.0
    inference: float = 0.0
    messages: int = 0
    bytes_moved: int = 0
    started: float = field(default_factory=perf_counter)

    def counters(
        self, *, restarts: int = 0, dropped: int = 0, lag: tuple[int, ...] = ()
    ) -> Counters:
        """What was counted until now; env, transport, inference and idle sum to wall."""
        claimed = self.env + self.transport + self.inference
        wall = max(perf_counter() - self.started, claimed)
        return Counters(
            wall=wall,
            env=self.env,
            transport=self.transport,
            inference=self.inference,
            idle=wall - claimed,
            messages=self.messages,
            bytes_moved=self.bytes_moved,
            restarts=restarts,
            dropped=dropped,
            lag=lag,
        )
