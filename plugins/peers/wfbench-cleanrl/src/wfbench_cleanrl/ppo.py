"""PPO as CleanRL's single-file implementation does it, on wfbench's rollouts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wfbench.contract import Arrays, Order, Rollout, TrainerSetup, UpdateStats, WfbenchError
from wfbench.orders import order_code
from wfbench.policies import NetworkPolicy

from .options import PpoOptions

HIDDEN = 64


class DivergedError(WfbenchError):
    """Learning cannot go on: a reward or a loss is not finite."""


class CleanPpo:
    """Learns with plain torch: nothing is shared between equal rows, nothing is compiled.

    Where an episode was cut off, the value of its last observation is added to the reward; the
    single-file original takes such an end for a real one.
    """

    def __init__(self, setup: TrainerSetup, **options: Any) -> None:
        self.options = PpoOptions(**options)
        torch.set_num_threads(self.options.threads)
        self._setup = setup
        units = len(setup.env.workflow.units) if setup.env.workflow else 0
        self._condition: NDArray[np.float32] = np.zeros(units * units, dtype=np.float32)
        self._version = self._updates = 0
        self._device = torch.device(setup.device)
        generator = torch.Generator().manual_seed(setup.seed % 2**63)
        inputs = math.prod(setup.env.obs_shape) + units * units
        self._actor = _network(inputs, setup.env.num_actions, 0.01, generator).to(self._device)
        self._critic = _network(inputs, 1, 1.0, generator).to(self._device)
        self._first = {name: value.copy() for name, value in self._weights()}
        self._adam = self._new_adam()

    def start(self, order: Order, inherit: Arrays | None = None) -> None:
        """Condition on `order`; start from the weights of `inherit`, or from the initial ones."""
        if self._condition.size:
            self._condition = order_code(order)
        self._set_weights(self._first if inherit is None else inherit)
        self._adam = self._new_adam()
        self._updates = 0
        self._version += 1

    def policy(self) -> NetworkPolicy:
        """Return the current networks as a policy of plain arrays."""
        actor, critic = (list(_layers(part)) for part in (self._actor, self._critic))
        return NetworkPolicy(actor, critic, version=self._version, condition=self._condition)

    def update(self, rollout: Rollout, rewards: NDArray[np.float32]) -> UpdateStats:
        """Make `epochs` passes over the rollout in minibatches."""
        started = time.perf_counter()
        if not np.isfinite(rewards).all():
            raise DivergedError("a reward is not finite; nothing was learned from this rollout")
        expected = self._setup.expected_updates
        if self.options.anneal and expected:
            left = max(0.0, 1.0 - self._updates / expected)
            self._adam.param_groups[0]["lr"] = left * self.options.lr
        obs = self._inputs(rollout.obs.reshape(rollout.transitions, -1))
        actions, log_probs, values = (
            self._tensor(part.reshape(-1))
            for part in (rollout.actions, rollout.log_probs, rollout.values)
        )
        advantages = self._tensor(self._advantages(rollout, rewards).reshape(-1))
        shuffle = np.random.default_rng([self._setup.seed % 2**63, self._version])
        size = math.ceil(rollout.transitions / self.options.minibatches)
        losses: dict[str, float] = {}
        for _ in range(self.options.epochs):
            rows = torch.from_numpy(shuffle.permutation(rollout.transitions)).to(self._device)
            for first in range(0, len(rows), size):
                part = rows[first : first + size]
                batch = (t[part] for t in (obs, actions, log_probs, values, advantages))
                losses = self._descend(*batch)
        self._version += 1
        self._updates += 1
        if not all(math.isfinite(value) for value in losses.values()):
            raise DivergedError(f"learning diverged: {losses}; lower the learning rate")
        return UpdateStats(time.perf_counter() - started, rollout.transitions, losses)

    def state(self) -> Arrays:
        """Return weights, moments of the optimiser, the order's code and the counts."""
        arrays: dict[str, NDArray[Any]] = {name: value.copy() for name, value in self._weights()}
        for index, moments in self._adam.state_dict()["state"].items():
            for name, value in moments.items():
                arrays[f"adam.{index}.{name}"] = value.detach().cpu().numpy().copy()
        counts = np.array([self._version, self._updates], dtype=np.int64)
        return arrays | {"condition": self._condition.copy(), "counts": counts}

    def load(self, state: Arrays) -> None:
        """Continue from a `state()`."""
        self._set_weights(state)
        self._condition = np.array(state["condition"], dtype=np.float32)
        self._version, self._updates = (int(count) for count in state["counts"])
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in state.items():
            if name.startswith("adam."):
                _, index, key = name.split(".")
                moments.setdefault(int(index), {})[key] = torch.from_numpy(np.array(value))
        self._adam = self._new_adam()
        self._adam.load_state_dict({**self._adam.state_dict(), "state": moments})

    def _descend(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        log_probs: torch.Tensor,
        values: torch.Tensor,
        advantages: torch.Tensor,
    ) -> dict[str, float]:
        """Make one step of Adam on the clipped objective of a minibatch."""
        chosen = self.options
        returns = advantages + values
        if len(advantages) > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        logs = torch.log_softmax(self._actor(obs), dim=-1)
        ratio = (logs.gather(1, actions[:, None]).squeeze(1) - log_probs).exp()
        clipped = ratio.clamp(1 - chosen.clip, 1 + chosen.clip)
        policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
        new = self._critic(obs).squeeze(-1)
        near = values + (new - values).clamp(-chosen.clip, chosen.clip)
        value_loss = 0.5 * torch.max((new - returns) ** 2, (near - returns) ** 2).mean()
        entropy = -(logs.exp() * logs).sum(dim=-1).mean()
        loss = policy_loss - chosen.entropy * entropy + chosen.value_weight * value_loss
        self._adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters(), chosen.max_grad_norm)
        self._adam.step()
        return {
            "policy_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy": entropy.item(),
        }

    def _advantages(self, rollout: Rollout, rewards: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the generalised advantages, [T, N]."""
        gamma, decay = self.options.gamma, self.options.gamma * self.options.gae
        after = np.empty_like(rollout.values)
        after[:-1], after[-1] = rollout.values[1:], self._values(rollout.next_obs)
        ended = rollout.ended
        if ended.any():
            last = self._values(rollout.final_obs)
            after[ended] = np.where(rollout.terminated[ended], 0.0, last)
        errors = rewards + gamma * after - rollout.values
        found, carried = np.empty_like(errors), np.zeros(errors.shape[1], dtype=np.float32)
        for step in reversed(range(len(errors))):
            carried = errors[step] + decay * ~ended[step] * carried
            found[step] = carried
        return found

    def _values(self, obs: NDArray[Any]) -> NDArray[np.float32]:
        with torch.no_grad():
            found = self._critic(self._inputs(obs.reshape(len(obs), -1))).squeeze(-1)
        values: NDArray[np.float32] = found.cpu().numpy()
        return values

    def _inputs(self, rows: NDArray[Any]) -> torch.Tensor:
        """Return the rows, each followed by the code of the order."""
        code = np.broadcast_to(self._condition, (len(rows), self._condition.size))
        return self._tensor(np.concatenate([rows, code], axis=1, dtype=np.float32))

    def _tensor(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _parameters(self) -> list[nn.Parameter]:
        return [*self._actor.parameters(), *self._critic.parameters()]

    def _new_adam(self) -> torch.optim.Adam:
        return torch.optim.Adam(self._parameters(), lr=self.options.lr, eps=1e-5)

    def _weights(self) -> Iterator[tuple[str, NDArray[Any]]]:
        for part, network in (("actor", self._actor), ("critic", self._critic)):
            for name, value in network.state_dict().items():
                yield f"{part}.{name}", value.cpu().numpy()

    def _set_weights(self, arrays: Arrays) -> None:
        for part, network in (("actor", self._actor), ("critic", self._critic)):
            names = network.state_dict()
            network.load_state_dict(
                {name: torch.from_numpy(np.array(arrays[f"{part}.{name}"])) for name in names}
            )


def _network(inputs: int, outputs: int, gain: float, generator: torch.Generator) -> nn.Sequential:
    """Return two hidden layers with tanh, orthogonal weights and no bias at first."""
    layers: list[nn.Module] = []
    sizes = [(inputs, HIDDEN, 2**0.5), (HIDDEN, HIDDEN, 2**0.5), (HIDDEN, outputs, gain)]
    for wide, narrow, scale in sizes:
        linear = nn.Linear(wide, narrow)
        nn.init.orthogonal_(linear.weight, scale, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def _layers(network: nn.Module) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            weight, bias = layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()
            yield weight.T.copy(), bias.copy()
