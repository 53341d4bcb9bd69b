"""PPO as documented: one full batch, Monte-Carlo returns standardised over it, K passes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wfbench.contract import Arrays, Rollout, TrainerSetup

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

    def gradient(self, rollout: Rollout, rewards: NDArray[np.float32]) -> Arrays:
        """The gradient of an update's first pass over these data, by weight; nothing changes."""
        batch = self._batch(rollout)
        loss, _ = self._loss(batch, self._targets(rollout, rewards))
        names, weights = zip(*self.network.named_parameters(), strict=True)
        gradients = torch.autograd.grad(loss, weights)
        return {name: g.cpu().numpy() for name, g in zip(names, gradients, strict=True)}

    def _learn(
        self, batch: Batch, rollout: Rollout, rewards: NDArray[np.float32]
    ) -> Mapping[str, float]:
        targets = self._targets(rollout, rewards)
        parts: Mapping[str, Tensor] = {}
        for epoch in range(self.options.epochs):
            loss, parts = self._loss(batch, targets, check=epoch == 0)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
        return {name: part.item() for name, part in parts.items()}

    def _targets(self, rollout: Rollout, rewards: NDArray[np.float32]) -> Tensor:
        """Returns standardised over the batch, one per transition."""
        returns = discounted_returns(rewards, rollout.ended, self.options.gamma).reshape(-1)
        spread = returns.std(ddof=1) if len(returns) > 1 else 0.0
        targets = torch.from_numpy((returns - returns.mean()) / (spread + _EPSILON))
        return targets.to(self.setup.device)

    def _loss(
        self, batch: Batch, targets: Tensor, *, check: bool = True
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The loss and its parts; `check` that the policy is the one that acted."""
        all_log_probs, all_values = self.network(batch.rows)
        log_probs = all_log_probs.reshape(-1).index_select(0, batch.place)
        values = all_values.index_select(0, batch.row)
        if check:
            self._check_log_probs(log_probs.detach(), batch.old_log_probs, batch.fresh)
        advantages = targets - values.detach()
        ratio = torch.exp(log_probs - batch.old_log_probs)
        clipped = ratio.clamp(1 - self.options.clip, 1 + self.options.clip)
        policy_loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
        value_loss = (values - targets).square().mean()
        shares = torch.bincount(batch.row, minlength=len(batch.rows)) / batch.size
        entropy = -((all_log_probs.exp() * all_log_probs).sum(1) * shares).sum()
        loss = policy_loss + self.options.value_weight * value_loss - self.options.entropy * entropy
        return loss, {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
