"""Scenes in which every random outcome is chosen by the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench_cage2 import layout, tables
from wfbench_cage2.draws import TAPE_SIZE, UNRECORDED
from wfbench_cage2.kernel import load_replay, start_state

DATA = Path(__file__).parents[2] / "data" / "cage2"


class Scene:
    """One episode, stepped with chosen outcomes; fields of the state by name."""

    def __init__(self, red: str) -> None:
        self.state, self.obs = start_state(tables.Red[red.upper()])
        self.reward = 0.0

    def step(
        self,
        action: int = tables.SLEEP,
        *,
        pick: int = UNRECORDED,
        exploit: int = UNRECORDED,
        detect: int = UNRECORDED,
        escalate: int = UNRECORDED,
    ) -> Scene:
        tape = np.array([pick, exploit, detect, escalate], dtype=np.int8)
        assert len(tape) == TAPE_SIZE
        self.reward = load_replay()(self.state, action, tape, self.obs) / 10
        assert not self.tape_error, "the chosen outcome was not among the possible ones"
        return self

    def __getattr__(self, name: str) -> Any:
        return layout.unpack(self.state)[name]

    def put(self, name: str, value: int, host: int | None = None) -> None:
        """Set a field, and keep the sets of owned and rooted hosts true."""
        self.state[getattr(layout.AT, name) + (host or 0)] = value
        owned = (self.sus > 0) | (self.oth > 0) | (self.root > 0)
        self.state[layout.AT.owned] = sum(1 << h for h in np.flatnonzero(owned))
        self.state[layout.AT.rooted] = sum(1 << h for h in np.flatnonzero(self.root > 0))

    def activity(self, host: int) -> tuple[int, ...]:
        return tuple(self.obs[4 * host : 4 * host + 2].tolist())

    def belief(self, host: int) -> tables.Belief:
        return tables.Belief(self.comp[host])

    def bline_to(self, index: int, user: int, blue: dict[int, int] | None = None) -> Scene:
        """Play B_line's plan up to and including `index`; `blue` maps index to blue's action."""
        for a in range(index + 1):
            self.step(
                (blue or {}).get(a, tables.SLEEP),
                pick=user if a == 1 else UNRECORDED,
                detect=1,
                escalate=int(self.sus[self._escalated(a, user)] > 0),
            )
            assert self.bline_a == a
        return self

    @staticmethod
    def _escalated(a: int, user: int) -> int:
        enterprise = tables.HOST_ID[tables.HOSTS[user].next_hop or "Enterprise0"]
        return {3: user, 6: enterprise, 10: 3, 13: 7}.get(a, 0)


@pytest.fixture
def scene() -> Callable[[str], Scene]:
    return Scene


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def host() -> dict[str, int]:
    return tables.HOST_ID
