"""Our PPO: generalised advantages, minibatches, annealing, a critic that keeps its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from wfbench.contract import Rollout, TrainerSetup

from .batch import Batch, network_inputs
from .learner import Learner
from .networks import linear_layers, orthogonal
from .options import PpoOptions
from .returns import Floats, gae_advantages

_EPSILON = 1e-8
_SCALE_MEMORY = 0.8
_VALUE_WEIGHT = 0.5


class Ppo(Learner):
    """PPO with everything that measured better than the documented one at equal steps."""

    def __init__(self, setup: TrainerSetup, **options: Any) -> None:
        self.options = PpoOptions(**options)
        super().__init__(
            setup,
            lr=self.options.lr,
            threads=self.options.threads,
            distinct=self.options.distinct,
            hidden=self.options.hidden,
        )

    def _initialise(self, generator: torch.Generator) -> None:
        orthogonal(self.network, generator)

    def _learn(
        self, batch: Batch, rollout: Rollout, rewards: NDArray[np.float32]
    ) -> Mapping[str, float]:
        advantages = gae_advantages(
            rewards,
            rollout.values,
            self._following(rollout),
            rollout.ended,
            self.options.gamma,
            self.options.gae,
        )
        returns = advantages + rollout.values
        self._keep_scale(returns)
        spread = advantages.std() + _EPSILON
        device = self.setup.device
        normalised = torch.from_numpy(((advantages - advantages.mean()) / spread).reshape(-1))
        targets = torch.from_numpy((returns / np.float32(self.value_scale)).reshape(-1))
        self._anneal()
        numbers = self._passes(batch, normalised.to(device), targets.to(device))
        return {**numbers, "value_scale": self.value_scale}

    def _following(self, rollout: Rollout) -> Floats:
        """The value of what follows each step, in units of the rewards."""
        following = np.empty_like(rollout.values)
        following[:-1] = rollout.values[1:]
        following[-1] = self._values(rollout.next_obs)
        ended = rollout.ended
        following[ended] = 0.0
        if self.options.truncation == "bootstrap" and len(rollout.final_obs):
            final = self._values(rollout.final_obs)
            final[rollout.terminated[ended]] = 0.0
            following[ended] = final
        return following

    def _values(self, obs: NDArray[Any]) -> Floats:
        with torch.no_grad():
            inputs = network_inputs(obs, self.condition, self.setup.device)
            values: Floats = self.network.critic(inputs).squeeze(1).cpu().numpy()
        return values * np.float32(self.value_scale)

    def _keep_scale(self, returns: Floats) -> None:
        """Follow the size of the returns, and let the critic say the same in the new unit."""
        size = float(np.sqrt(np.mean(np.square(returns, dtype=np.float64)))) + _EPSILON
        memory = _SCALE_MEMORY if self.updates else 0.0
        scale = memory * self.value_scale + (1.0 - memory) * size
        last = list(linear_layers(self.network.critic))[-1]
        with torch.no_grad():
            last.weight.mul_(self.value_scale / scale)
            last.bias.mul_(self.value_scale / scale)
        self.value_scale = scale

    def _progress(self) -> float:
        """Share of the budget that is spent."""
        expected = self.setup.expected_updates
        return min(1.0, self.updates / expected) if expected else 0.0

    def _anneal(self) -> None:
        share = 1.0 - self._progress() * (1.0 - self.options.lr_end) if self.options.anneal else 1.0
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.lr * share

    def _entropy_weight(self) -> float:
        start, end = self.options.entropy, self.options.entropy_end
        return start + (end - start) * self._progress()

    def _passes(self, batch: Batch, advantages: Tensor, targets: Tensor) -> dict[str, float]:
        generator = torch.Generator().manual_seed((self.setup.seed + self.version) % 2**63)
        entropy_weight = self._entropy_weight()
        policy_loss = value_loss = entropy = norm = torch.zeros(())
        kl = 0.0
        done = 0
        for epoch in range(self.options.epochs):
            shuffled = torch.randperm(batch.size, generator=generator)
            moved: list[float] = []
            for part in shuffled.tensor_split(self.options.minibatches):
                if not len(part):
                    continue
                rows, row = _rows_of(batch, part)
                all_log_probs, all_values = self.network(rows)
                actions = batch.place[part] - batch.row[part] * self.num_actions
                log_probs = all_log_probs.reshape(-1).index_select(
                    0, row * self.num_actions + actions
                )
                if epoch == 0 and not moved:
                    self._check_log_probs(
                        log_probs.detach(), batch.old_log_probs[part], batch.fresh[part]
                    )
                values = all_values.index_select(0, row)
                shares = torch.bincount(row, minlength=len(rows)) / len(part)
                log_ratio = log_probs - batch.old_log_probs[part]
                ratio = torch.exp(log_ratio)
                clipped = ratio.clamp(1 - self.options.clip, 1 + self.options.clip)
                gain = advantages[part]
                policy_loss = -torch.minimum(ratio * gain, clipped * gain).mean()
                value_loss = (values - targets[part]).square().mean()
                entropy = -((all_log_probs.exp() * all_log_probs).sum(1) * shares).sum()
                loss = policy_loss + _VALUE_WEIGHT * value_loss - entropy_weight * entropy
                self.optimiser.zero_grad(set_to_none=True)
                loss.backward()
                norm = self._shorten()
                self.optimiser.step()
                moved.append(float((ratio.detach() - 1 - log_ratio.detach()).mean()))
            done += 1
            kl = sum(moved) / len(moved)
            if self.options.target_kl and kl > self.options.target_kl:
                break
        return {
            "policy_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy": entropy.item(),
            "grad_norm": norm.item(),
            "kl": kl,
            "epochs": float(done),
        }

    def _shorten(self) -> Tensor:
        limit = self.options.max_grad_norm or float("inf")
        norm = clip_grad_norm_(self.network.actor.parameters(), limit)
        clip_grad_norm_(self.network.critic.parameters(), limit)
        return norm


def _rows_of(batch: Batch, part: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct rows that some transitions use, and which of them each uses."""
    used = torch.zeros(len(batch.rows), dtype=torch.bool, device=batch.rows.device)
    row = batch.row[part]
    used[row] = True
    number = used.cumsum(0) - 1
    return batch.rows[used], number[row]
