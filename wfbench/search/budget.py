"""Budgets, all counted in environment steps, and wall time. None is ever overshot."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.config import RunConfig
from wfbench.contract import Cadence

_CAUTION = 2.5
"""How much longer than the longest so far the next stretch of work is taken to last."""


@dataclass(frozen=True)
class WorkflowBudget:
    """What one order may cost."""

    n_envs: int
    """Environments that are stepped together; a trainer's cadence may ask for one."""
    steps: int
    """Steps of every env between updates."""
    max_steps: int
    """Environment steps in all."""
    min_steps: int
    """Environment steps before compliance can end the training."""
    per_episode: int
    """Environment steps of one episode of every configured env."""
    limit: str = "episodes"
    """Which budget set `max_steps`: `episodes` per env, or `total-episodes` of the run."""

    def next_steps(self, used: int) -> int:
        """How many steps of every env the next rollout may have; 0: none."""
        return min(self.steps, (self.max_steps - used) // self.n_envs)

    @property
    def rollouts(self) -> int:
        """How many rollouts fit."""
        return -(-(self.max_steps // self.n_envs) // self.steps)


def workflow_budget(
    config: RunConfig, cadence: Cadence, episode_steps: int, share: float, left: int | None
) -> WorkflowBudget:
    """The budget of the next order.

    `share` is the part of the full budget that the searcher gives it, in whole episodes; `left`
    is what the budget of the whole run still has for training, None without one.
    """
    n_envs = cadence.n_envs or config.n_envs
    episodes = max(1, min(config.max_episodes, round(share * config.max_episodes)))
    per_episode = config.n_envs * episode_steps
    max_steps, limit = episodes * per_episode, "episodes"
    if left is not None and left < max_steps:
        max_steps, limit = left, "total-episodes"
    return WorkflowBudget(
        n_envs=n_envs,
        steps=cadence.steps or config.update_every,
        max_steps=max_steps,
        min_steps=min(config.min_episodes * per_episode, max_steps),
        per_episode=per_episode,
        limit=limit,
    )


@dataclass(frozen=True)
class Pace:
    """How long things took, so that nothing is begun that would end too late."""

    start: float = 0.0
    """Building environments and learner."""
    rollout: float = 0.0
    """The longest rollout with its update, of the present workflow or the one before."""
    evaluation: float = 0.0

    def to_end_well(self) -> float:
        """Seconds for one more rollout and what must follow."""
        return self.rollout + self.evaluation

    def to_begin(self) -> float:
        """Seconds for the shortest workflow."""
        return self.start + self.to_end_well()


def time_for(seconds: float, left: float | None) -> bool:
    """Whether work expected to take `seconds` would end while time is left; None: always."""
    return left is None or _CAUTION * seconds <= left


class Ledger:
    """Environment steps and seconds spent by the whole run."""

    def __init__(self, max_steps: int = 0, max_seconds: float = 0.0) -> None:
        self._max_steps = max_steps
        self._max_seconds = max_seconds
        self.steps = 0
        self.seconds_before = 0.0
        """What finished workflows of an interrupted run had taken."""

    def spend(self, steps: int) -> None:
        """Count steps, whatever they were for."""
        self.steps += steps

    def left(self) -> int | None:
        """Steps that may still be spent; None: as many as you like."""
        return max(0, self._max_steps - self.steps) if self._max_steps else None

    def seconds_left(self, elapsed: float) -> float | None:
        """Seconds that may still pass; None: as many as you like."""
        if not self._max_seconds:
            return None
        return self._max_seconds - self.seconds_before - elapsed
