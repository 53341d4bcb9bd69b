"""What the speed of collecting and of training is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from wfbench.contract import Acts
from wfbench.policies import NetworkPolicy


class TorchOnEveryRow:
    """The same networks as a `NetworkPolicy`, evaluated by torch for every row of every step.

    As training code does it: a `Categorical` that is sampled and asked for the log-probability.
    With `tuned`, by the inverse of the distribution at our draws, which is faster and gives the
    same actions as ours.
    """

    def __init__(self, policy: NetworkPolicy, *, tuned: bool) -> None:
        torch.set_num_threads(1)
        self.version = policy.version
        self.tuned = tuned
        self.condition = torch.from_numpy(policy.condition)
        self.nets = [self._net(layers) for layers in (policy.actor, policy.critic)]

    def _net(self, layers: Any) -> Any:
        parts: list[Any] = []
        for weights, biases in layers:
            linear = torch.nn.Linear(*weights.shape)
            linear.weight.data = torch.from_numpy(weights.T.copy())
            linear.bias.data = torch.from_numpy(biases.copy())
            parts += [linear, torch.nn.Tanh()]
        return torch.nn.Sequential(*parts[:-1])

    def act(self, obs: Any, draws: Any) -> Acts:
        with torch.inference_mode():
            rows = torch.from_numpy(obs).float()
            code = self.condition.expand(len(rows), -1)
            rows = torch.cat([rows, code], dim=1)
            choose = self._inverse if self.tuned else self._sampled
            actions, log_probs = choose(self.nets[0](rows), draws)
            values = self.nets[1](rows)[:, 0]
        return Acts(actions.numpy(), log_probs.numpy(), values.numpy())

    def _sampled(self, logits: Any, _draws: Any) -> tuple[Any, Any]:
        chances = torch.distributions.Categorical(logits=logits)
        actions = chances.sample()
        return actions, chances.log_prob(actions)

    def _inverse(self, logits: Any, draws: Any) -> tuple[Any, Any]:
        log_probs = torch.log_softmax(logits, dim=1)
        cdf = log_probs.exp().cumsum(dim=1)
        wanted = torch.from_numpy(draws).float()[:, None] * cdf[:, -1:]
        actions = torch.searchsorted(cdf, wanted, right=True).clamp_(max=cdf.shape[1] - 1)
        return actions[:, 0], log_probs.gather(1, actions)[:, 0]


@pytest.fixture
def torch_on_every_row() -> Callable[..., Any]:
    """Policies that torch evaluates for every row."""
    return TorchOnEveryRow
