"""PPO as documented: one full batch, Monte-Carlo returns standardised over it, K passes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from wfbench.contract import Rollout, TrainerSetup

from .batch import Batch
from .learner import Learner
from .networks import uniform
from .options import DocumentedOptions
from .returns import discounted_returns

_EPSILON = 1e-7


class DocumentedPpo(Learner):
    """The documented learner; its cadence is the caller's."""

    betas = (0.9, 0.990)

    def __init__(self, setup: TrainerSetup, **options: float) -> None:
        self.options = DocumentedOptions(**options)  # type: ignore[arg-type]
        super().__init__(
            setup,
            lr=self.options.lr,
            threads=self.options.threads,
            distinct=self.options.distinct,
            hidden=self.hidden,
        )

    def _initialise(self, generator: torch.Generator) -> None:
        uniform(self.network, generator)

    def _learn(
        self, batch: Batch, rollout: Rollout, rewards: NDArray[np.float32]
    ) -> Mapping[str, float]:
        returns = discounted_returns(rewards, rollout.ended, self.options.gamma).reshape(-1)
        spread = returns.std(ddof=1) if len(returns) > 1 else 0.0
        targets = torch.from_numpy((returns - returns.mean()) / (spread + _EPSILON))
        targets = targets.to(self.setup.device)
        shares = torch.bincount(batch.row, minlength=len(batch.rows)) / batch.size
        policy_loss = value_loss = entropy = torch.zeros(())
        for epoch in range(self.options.epochs):
            all_log_probs, all_values = self.network(batch.rows)
            log_probs = all_log_probs.reshape(-1).index_select(0, batch.place)
            values = all_values.index_select(0, batch.row)
            if epoch == 0:
                self._check_log_probs(log_probs.detach(), batch.old_log_probs, batch.fresh)
            advantages = targets - values.detach()
            ratio = torch.exp(log_probs - batch.old_log_probs)
            clipped = ratio.clamp(1 - self.options.clip, 1 + self.options.clip)
            policy_loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
            value_loss = (values - targets).square().mean()
            entropy = -((all_log_probs.exp() * all_log_probs).sum(1) * shares).sum()
            loss = (
                policy_loss
                + self.options.value_weight * value_loss
                - self.options.entropy * entropy
            )
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
        return {
            "policy_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy": entropy.item(),
        }
