"""Stable-Baselines3's PPO as a trainer."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.logger import Logger

from wfbench.contract import Arrays, Order, Rollout, TrainerSetup, UpdateStats, WfbenchError
from wfbench.orders import order_code
from wfbench.policies import NetworkPolicy

from .options import PpoOptions
from .weights import arrays_to_state, network_policy, state_to_arrays

_SHOWN = ("loss", "policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl")


class LearningError(WfbenchError):
    """Learning cannot go on: a reward or a loss is not finite."""


class Sb3Ppo:
    """Fills the library's rollout buffer from ours and lets its PPO train on it.

    The library learns as in its own loop: generalised advantages, minibatches, and the value of the
    last observation added to the reward of a step at which an episode was cut off. It draws from
    process-global random state, which is seeded for each update and then put back.
    """

    def __init__(self, setup: TrainerSetup, **options: Any) -> None:
        self.options = PpoOptions(**options)
        torch.set_num_threads(self.options.threads)
        self._setup = setup
        units = len(setup.env.workflow.units) if setup.env.workflow else 0
        self._condition: NDArray[np.float32] = np.zeros(units * units, dtype=np.float32)
        self._version = 0
        with _seeded(setup.seed):
            self._model = self._build()
        self._first = state_to_arrays(self._model.policy)

    def start(self, order: Order, inherit: Arrays | None = None) -> None:
        """Condition on `order`; start from the weights of `inherit`, or from the initial ones."""
        if self._condition.size:
            self._condition = order_code(order)
        arrays_to_state(self._model.policy, self._first)
        if inherit is not None:
            arrays_to_state(self._model.policy, inherit, optimiser=False)
        self._version += 1

    def policy(self) -> NetworkPolicy:
        """Return the current networks as a policy of plain arrays."""
        return network_policy(self._model.policy, self._condition, self._version)

    def update(self, rollout: Rollout, rewards: NDArray[np.float32]) -> UpdateStats:
        """Call the library's `train()` once."""
        started = time.perf_counter()
        if not np.isfinite(rewards).all():
            raise LearningError("a reward is not finite; nothing was learned from this rollout")
        with _seeded(self._setup.seed + self._version):
            self._model.rollout_buffer = self._filled(rollout, rewards)
            self._model.train()
        self._version += 1
        values = self._numbers()
        return UpdateStats(time.perf_counter() - started, rollout.transitions, values)

    def state(self) -> Arrays:
        """Return weights, moments of the optimiser, the order's code and the version."""
        arrays = state_to_arrays(self._model.policy)
        arrays["condition"] = self._condition.copy()
        arrays["version"] = np.array(self._version, dtype=np.int64)
        return arrays

    def load(self, state: Arrays) -> None:
        """Continue from a `state()`."""
        arrays_to_state(self._model.policy, state)
        self._condition = np.array(state["condition"], dtype=np.float32)
        self._version = int(state["version"])

    def _build(self) -> PPO:
        env, chosen = self._setup.env, self.options
        inputs = math.prod(env.obs_shape) + self._condition.size
        model = PPO(
            "MlpPolicy",
            _Spaces(inputs, env.num_actions),
            learning_rate=chosen.lr,
            batch_size=chosen.batch_size,
            n_steps=chosen.batch_size,
            n_epochs=chosen.epochs,
            gamma=chosen.gamma,
            gae_lambda=chosen.gae,
            clip_range=chosen.clip,
            ent_coef=chosen.entropy,
            vf_coef=chosen.value_weight,
            max_grad_norm=chosen.max_grad_norm,
            device=self._setup.device,
        )
        model.set_logger(Logger(folder=None, output_formats=[]))
        return model

    def _filled(self, rollout: Rollout, rewards: NDArray[np.float32]) -> RolloutBuffer:
        model = self._model
        steps, columns = rollout.actions.shape
        buffer = RolloutBuffer(
            steps,
            model.observation_space,
            model.action_space,
            device=model.device,
            gae_lambda=model.gae_lambda,
            gamma=model.gamma,
            n_envs=columns,
        )
        ended = rollout.ended
        rewards = rewards + model.gamma * self._cut_off(rollout)
        starts = np.zeros((steps, columns), dtype=np.float32)
        starts[1:] = ended[:-1]
        for step in range(steps):
            buffer.add(
                self._inputs(rollout.obs[step]),
                rollout.actions[step],
                rewards[step],
                starts[step],
                torch.from_numpy(rollout.values[step]),
                torch.from_numpy(rollout.log_probs[step]),
            )
        buffer.compute_returns_and_advantage(self._values(rollout.next_obs), ended[-1])
        return buffer

    def _cut_off(self, rollout: Rollout) -> NDArray[np.float32]:
        """Return the value of the last observation where an episode was truncated, else 0."""
        values = np.zeros(rollout.actions.shape, dtype=np.float32)
        if len(rollout.final_obs):
            ended = rollout.ended
            values[ended] = self._values(rollout.final_obs).numpy().reshape(-1)
            values[rollout.terminated] = 0.0
        return values

    def _values(self, obs: NDArray[Any]) -> torch.Tensor:
        with torch.no_grad():
            tensor, _ = self._model.policy.obs_to_tensor(self._inputs(obs))
            return self._model.policy.predict_values(tensor).cpu()

    def _inputs(self, obs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the observations, each followed by the code of the order."""
        rows = obs.reshape(len(obs), -1)
        code = np.broadcast_to(self._condition, (len(rows), self._condition.size))
        return np.concatenate([rows, code], axis=1, dtype=np.float32)

    def _numbers(self) -> Mapping[str, float]:
        logged = self._model.logger.name_to_value
        numbers = {name: float(logged[f"train/{name}"]) for name in _SHOWN}
        if not all(math.isfinite(value) for value in numbers.values()):
            raise LearningError(f"learning diverged: {numbers}; lower the learning rate")
        return numbers


class _Spaces(gymnasium.Env[NDArray[np.float32], np.int64]):
    """What the library asks an environment for before it can build its networks."""

    def __init__(self, inputs: int, actions: int) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (inputs,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(actions)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators, and restore them afterwards."""
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002 (the library's)
    try:
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 (as above)
        torch.manual_seed(seed % 2**63)
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002 (as above)
        torch.set_rng_state(kept[2])
