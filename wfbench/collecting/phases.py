"""Where the time of one `collect` goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from wfbench.contract import Counters


@dataclass
class Phases:
    """Adds up seconds and traffic; the wall time that nothing accounts for is idle."""

    env: float = 0.0
    transport: float = 0.0
    inference: float = 0.0
    messages: int = 0
    bytes_moved: int = 0
    restarts: int = 0
    started: float = field(default_factory=perf_counter)

    def add_traffic(self, before: tuple[int, int], after: tuple[int, int]) -> None:
        """Count the messages and bytes between two readings of (messages, bytes)."""
        self.messages += after[0] - before[0]
        self.bytes_moved += after[1] - before[1]

    def counters(
        self, *, restarts: int = 0, dropped: int = 0, lag: tuple[int, ...] = ()
    ) -> Counters:
        """Return what was counted until now; env, transport, inference and idle sum to wall."""
        counted = self.env + self.transport + self.inference
        wall = max(perf_counter() - self.started, counted)
        return Counters(
            wall=wall,
            env=self.env,
            transport=self.transport,
            inference=self.inference,
            idle=wall - counted,
            messages=self.messages,
            bytes_moved=self.bytes_moved,
            restarts=restarts,
            dropped=dropped,
            lag=lag,
        )
