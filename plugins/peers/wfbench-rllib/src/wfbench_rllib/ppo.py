"""RLlib's PPO as a trainer: its learner, module and connectors, on wfbench's rollouts."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from torch import nn

from wfbench.contract import Arrays, Order, Rollout, TrainerSetup, UpdateStats, WfbenchError
from wfbench.orders import order_code
from wfbench.policies import NetworkPolicy

from .options import PpoOptions

_SHOWN = ("total_loss", "policy_loss", "vf_loss", "entropy", "mean_kl_loss")
_KL = "kl_coefficient"


class LearningError(WfbenchError):
    """Learning cannot go on: a reward or a loss is not finite."""


class RllibPpo:
    """Hands our rollouts as episodes to the library's learner, in this process.

    The library learns as in its own loop: its connectors evaluate the values anew and make the
    advantages, its loss has the divergence from the last policy in it. It draws from process-global
    random state, which is seeded for each update and then put back.
    """

    def __init__(self, setup: TrainerSetup, **options: Any) -> None:
        self.options = PpoOptions(**options)
        torch.set_num_threads(self.options.threads)
        self._setup = setup
        units = len(setup.env.workflow.units) if setup.env.workflow else 0
        self._condition: NDArray[np.float32] = np.zeros(units * units, dtype=np.float32)
        self._version = 0
        inputs = math.prod(setup.env.obs_shape) + units * units
        self._obs_space = gymnasium.spaces.Box(-np.inf, np.inf, (inputs,), np.float32)
        self._action_space = gymnasium.spaces.Discrete(setup.env.num_actions)
        with _undisturbed(setup.seed):
            self._learner = self._build()
        self._module = self._learner.module[DEFAULT_MODULE_ID]
        self._adam = self._learner.get_optimizer(DEFAULT_MODULE_ID)
        self._first = self._arrays()

    def start(self, order: Order, inherit: Arrays | None = None) -> None:
        """Condition on `order`; start from the weights of `inherit`, or from the initial ones."""
        if self._condition.size:
            self._condition = order_code(order)
        self._take(self._first)
        if inherit is not None:
            self._take_weights(inherit)
        self._version += 1

    def policy(self) -> NetworkPolicy:
        """Return the current networks as a policy of plain arrays."""
        encoder = self._module.encoder
        actor = [*_layers(encoder.actor_encoder), *_layers(self._module.pi)]
        critic = [*_layers(encoder.critic_encoder), *_layers(self._module.vf)]
        return NetworkPolicy(actor, critic, version=self._version, condition=self._condition)

    def update(self, rollout: Rollout, rewards: NDArray[np.float32]) -> UpdateStats:
        """Call the library's `update` once."""
        started = time.perf_counter()
        if not np.isfinite(rewards).all():
            raise LearningError("a reward is not finite; nothing was learned from this rollout")
        with _undisturbed(self._setup.seed + self._version):
            found = self._learner.update(
                episodes=self._episodes(rollout, rewards),
                num_epochs=self.options.epochs,
                minibatch_size=self.options.batch_size,
                shuffle_batch_per_epoch=True,
            )[DEFAULT_MODULE_ID]
        self._version += 1
        numbers = {name: float(found[name].peek()) for name in _SHOWN}
        if not all(math.isfinite(value) for value in numbers.values()):
            raise LearningError(f"learning diverged: {numbers}; lower the learning rate")
        return UpdateStats(time.perf_counter() - started, rollout.transitions, numbers)

    def state(self) -> Arrays:
        """Return weights, the optimiser's moments, the library's own weight, code and version."""
        version = np.array(self._version, dtype=np.int64)
        return self._arrays() | {"condition": self._condition.copy(), "version": version}

    def load(self, state: Arrays) -> None:
        """Continue from a `state()`."""
        self._take(state)
        self._condition = np.array(state["condition"], dtype=np.float32)
        self._version = int(state["version"])

    def _build(self) -> Any:
        chosen = self.options
        model = DefaultModelConfig(
            fcnet_hiddens=[chosen.hidden] * 2, fcnet_activation="tanh", vf_share_layers=False
        )
        config = (
            PPOConfig()  # type: ignore[no-untyped-call]  # the library has only some types
            .environment(observation_space=self._obs_space, action_space=self._action_space)
            .training(
                lr=chosen.lr,
                gamma=chosen.gamma,
                lambda_=chosen.gae,
                clip_param=chosen.clip,
                entropy_coeff=chosen.entropy,
                vf_loss_coeff=chosen.value_weight,
                vf_clip_param=chosen.value_clip,
                kl_coeff=chosen.kl,
                use_kl_loss=chosen.kl > 0,
            )
            .rl_module(model_config=model)
        )
        return config.build_learner(
            spaces={DEFAULT_MODULE_ID: (self._obs_space, self._action_space)}
        )

    def _episodes(self, rollout: Rollout, rewards: NDArray[np.float32]) -> list[SingleAgentEpisode]:
        """Return the episodes, or their parts, of each environment."""
        last = np.empty((*rollout.actions.shape, *rollout.obs.shape[2:]), rollout.obs.dtype)
        last[-1] = rollout.next_obs
        last[rollout.ended] = rollout.final_obs
        steps, envs = rollout.actions.shape
        obs, after = (
            self._inputs(part.reshape(steps * envs, -1)).reshape(steps, envs, -1)
            for part in (rollout.obs, last)
        )
        with torch.no_grad():
            rows = torch.from_numpy(obs.reshape(steps * envs, -1))
            logits = self._module.forward_train({Columns.OBS: rows})[Columns.ACTION_DIST_INPUTS]
        logits = logits.numpy().reshape(steps, envs, -1)
        found = []
        for env in range(envs):
            stops = [*(np.flatnonzero(rollout.ended[:-1, env]) + 1), steps]
            for first, stop in zip([0, *stops[:-1]], stops, strict=True):
                part = (slice(first, stop), env)
                outputs = {
                    Columns.ACTION_DIST_INPUTS: list(logits[part]),
                    Columns.ACTION_LOGP: list(rollout.log_probs[part]),
                }
                episode = SingleAgentEpisode(
                    observations=[*obs[part], after[stop - 1, env]],
                    observation_space=self._obs_space,
                    actions=list(rollout.actions[part]),
                    action_space=self._action_space,
                    rewards=list(rewards[part]),
                    terminated=bool(rollout.terminated[stop - 1, env]),
                    truncated=bool(rollout.truncated[stop - 1, env]),
                    extra_model_outputs=outputs,
                    len_lookback_buffer=0,
                )
                found.append(episode.to_numpy())
        return found

    def _inputs(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        """Return the rows, each followed by the code of the order."""
        code = np.broadcast_to(self._condition, (len(rows), self._condition.size))
        return np.concatenate([rows, code], axis=1, dtype=np.float32)

    @property
    def _kl(self) -> torch.Tensor:
        """The weight of the divergence, which the library changes after each update."""
        found: torch.Tensor = self._learner.curr_kl_coeffs_per_module[DEFAULT_MODULE_ID]
        return found

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {f"weights.{n}": _array(value) for n, value in self._module.state_dict().items()}
        for index, moments in self._adam.state_dict()["state"].items():
            arrays |= {f"adam.{index}.{name}": _array(value) for name, value in moments.items()}
        return arrays | {_KL: _array(self._kl)}

    def _take(self, arrays: Arrays) -> None:
        self._take_weights(arrays)
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, value in arrays.items():
            if name.startswith("adam."):
                _, index, key = name.split(".")
                moments.setdefault(int(index), {})[key] = torch.from_numpy(np.array(value))
        self._adam.load_state_dict({**self._adam.state_dict(), "state": moments})
        self._kl.data.copy_(torch.from_numpy(np.array(arrays[_KL])))

    def _take_weights(self, arrays: Arrays) -> None:
        names = self._module.state_dict()
        self._module.load_state_dict(
            {name: torch.from_numpy(np.array(arrays[f"weights.{name}"])) for name in names}
        )


def _layers(part: nn.Module) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    for layer in part.modules():
        if isinstance(layer, nn.Linear):
            yield _array(layer.weight).T.copy(), _array(layer.bias)


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy().copy()
    return array


@contextmanager
def _undisturbed(seed: int) -> Iterator[None]:
    """Seed the global generators, and restore them afterwards; keep the library's advice quiet."""
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002 (the library's)
    log = logging.getLogger("ray")
    level = log.level
    try:
        log.setLevel(logging.ERROR)
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 (as above)
        torch.manual_seed(seed % 2**63)
        yield
    finally:
        log.setLevel(level)
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002 (as above)
        torch.set_rng_state(kept[2])
