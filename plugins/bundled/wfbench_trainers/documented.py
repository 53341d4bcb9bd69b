"""PPO as documented: one full batch, Monte-Carlo returns standardised over it, K passes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Arrays, Rollout, TrainerSetup

from .batch import Batch
from .learner import Learner
from .networks import uniform
from .objective import Parts, Weighting
from .options import DocumentedOptions
from .returns import Floats, discounted_returns

_EPSILON = np.float32(1e-7)


class DocumentedPpo(Learner):
    """The documented learner; the caller sets the cadence."""

    betas = (0.9, 0.990)

    def __init__(self, setup: TrainerSetup, **options: float) -> None:
        self.options = DocumentedOptions(**options)  # type: ignore[arg-type]
        super().__init__(setup, self.options)

    def _initialise(self, rng: np.random.Generator) -> None:
        uniform(self.network, rng)

    def gradient(self, rollout: Rollout, rewards: NDArray[np.float32]) -> Arrays:
        """Return the gradient of an update's first pass by weight name, changing nothing."""
        self._differentiate(self._batch(rollout), self._targets(rollout, rewards), self._weighting)
        return self.network.named(self.network.gradient.copy())

    def _learn(
        self, batch: Batch, rollout: Rollout, rewards: NDArray[np.float32]
    ) -> Mapping[str, float]:
        targets = self._targets(rollout, rewards)
        parts: Parts | None = None
        for _ in range(self.options.epochs):
            parts = self._differentiate(batch, targets, self._weighting, check=parts is None)
            self.optimiser.step()
        return {} if parts is None else parts.numbers()

    def _targets(self, rollout: Rollout, rewards: NDArray[np.float32]) -> Floats:
        """Return the returns, standardised over the batch, one per transition."""
        returns = discounted_returns(rewards, rollout.ended, self.options.gamma).reshape(-1)
        spread = returns.std(ddof=1) if len(returns) > 1 else np.float32(0.0)
        targets: Floats = (returns - returns.mean()) / (spread + _EPSILON)
        return targets

    @property
    def _weighting(self) -> Weighting:
        return Weighting(self.options.clip, self.options.value_weight, self.options.entropy)
