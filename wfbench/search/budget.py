"""Budgets in environment steps and wall-clock seconds. None is ever exceeded."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.contract import Cadence
from wfbench.settings.config import RunConfig

_CAUTION = 2.5
"""Factor by which the next piece of work may take longer than the longest so far."""


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
        """Return how many steps of every env the next rollout may have; 0 if none are left."""
        return min(self.steps, (self.max_steps - used) // self.n_envs)

    @property
    def rollouts(self) -> int:
        """Return how many rollouts fit."""
        return -(-(self.max_steps // self.n_envs) // self.steps)


def workflow_budget(
    config: RunConfig, cadence: Cadence, episode_steps: int, episodes: int, left: int | None
) -> WorkflowBudget:
    """Return the budget of a training of so many episodes per environment.

    `left` is what the budget of the whole run still has for training, None without one.
    """
    n_envs = cadence.n_envs or config.n_envs
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


def granted_episodes(episodes: int, share: float) -> int:
    """Return the share of a full budget of episodes: at least one, at most all of them."""
    return max(1, min(episodes, round(share * episodes)))


@dataclass(frozen=True)
class Pace:
    """How long things took so far, so that nothing starts that would end too late."""

    start: float = 0.0
    """Building environments and learner."""
    rollout: float = 0.0
    """The longest rollout with its update, of the present workflow or the one before."""
    evaluation: float = 0.0

    def to_end_well(self) -> float:
        """Return the seconds for one more rollout and what must follow."""
        return self.rollout + self.evaluation

    def to_begin(self) -> float:
        """Return the seconds for the shortest workflow."""
        return self.start + self.to_end_well()


def time_for(seconds: float, left: float | None) -> bool:
    """Tell whether work of about `seconds` fits into the time left; None means no limit."""
    return left is None or _CAUTION * seconds <= left


@dataclass(frozen=True)
class RunBudget:
    """What a whole run may spend; 0 means no limit."""

    max_steps: int = 0
    max_seconds: float = 0.0

    def steps_left(self, spent: int) -> int | None:
        """Return the environment steps that may still be spent; None means no limit."""
        return max(0, self.max_steps - spent) if self.max_steps else None

    def seconds_left(self, elapsed: float) -> float | None:
        """Return the seconds that may still pass; None means no limit."""
        return self.max_seconds - elapsed if self.max_seconds else None
