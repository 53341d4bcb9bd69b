"""A collector and a trainer as somebody wrote them for release 0.1.0, before there were forms."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np

from wfbench.contract import (
    CollectorSpec,
    Counters,
    EnvInfo,
    Rollout,
    TrainerSpec,
    UpdateStats,
    hookimpl,
    uniform_draws,
)
from wfbench.policies import NetworkPolicy

_TYPES = {
    "rewards": np.float32,
    "terminated": np.bool_,
    "truncated": np.bool_,
    "compromised": np.uint32,
    "ended_session": np.bool_,
}


class OldCollector:
    """Steps one environment after the other and asks the policy for all of them at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, plan: Any) -> EnvInfo:
        self.plan, self.steps = plan, 0
        self.envs = [plan.env.make(index) for index in range(plan.n_envs)]
        seeded = zip(self.envs, plan.env_seeds, strict=True)
        self.obs = np.stack([np.array(env.reset(seed=int(seed))[0]) for env, seed in seeded])
        first = self.envs[0]
        model = getattr(first.unwrapped, "workflow", None)
        actions = int(first.action_space.n)
        return EnvInfo(self.obs.shape[1:], str(self.obs.dtype), actions, model)

    def collect(self, policy: Any, steps: int) -> Rollout:
        began, n_envs = time.perf_counter(), self.plan.n_envs
        seeds = np.array(self.plan.env_seeds, dtype=np.uint64)
        rows: dict[str, list[Any]] = {name: [] for name in (*_TYPES, "obs", "acts")}
        finals: list[Any] = []
        for step in range(self.steps, self.steps + steps):
            acts = policy.act(self.obs, uniform_draws(seeds, np.full(n_envs, step, np.uint64)))
            rows["obs"].append(self.obs)
            rows["acts"].append(acts)
            made = [self._step(*one) for one in zip(self.envs, acts.actions, strict=True)]
            for place, name in enumerate(_TYPES):
                rows[name].append([one[place] for one in made])
            finals += [one[-1] for one in made if one[-1] is not None]
            self.obs = np.stack([one[-2] for one in made])
        self.steps += steps
        wall = time.perf_counter() - began
        return Rollout(
            obs=np.stack(rows["obs"]),
            final_obs=np.array(finals, self.obs.dtype).reshape(-1, *self.obs.shape[1:]),
            next_obs=self.obs.copy(),
            actions=np.stack([acts.actions for acts in rows["acts"]]),
            log_probs=np.stack([acts.log_probs for acts in rows["acts"]]),
            values=np.stack([acts.values for acts in rows["acts"]]),
            env_id=np.arange(n_envs),
            first_step=np.full(n_envs, self.steps - steps),
            policy_version=np.full(n_envs, policy.version),
            counters=Counters(wall, wall, 0.0, 0.0, 0.0),
            **{name: np.array(rows[name], kind) for name, kind in _TYPES.items()},
        )

    def close(self) -> None:
        for env in self.__dict__.pop("envs", ()):
            env.close()

    @staticmethod
    def _step(env: Any, action: Any) -> tuple[Any, ...]:
        """What `_TYPES` names, the next observation, and the last one of an episode that ended."""
        obs, reward, terminated, truncated, info = env.step(int(action))
        obs, final = np.array(obs), None
        if terminated or truncated:
            obs, final = np.array(env.reset()[0]), obs
        seen = info.get("compromised_hosts", 0), info.get("ended_session", False)
        return reward, terminated, truncated, *seen, obs, final


class Reinforce:
    """Raises the log-probability of actions by the return that followed, with one linear layer."""

    def __init__(self, setup: Any) -> None:
        self.setup, self.version = setup, 0
        size = int(np.prod(setup.env.obs_shape))
        self.weights = np.zeros((size, setup.env.num_actions), np.float32)

    def start(self, order: Any, inherit: Any = None) -> None:
        del order
        if inherit is not None:
            self.load(inherit)

    def policy(self) -> NetworkPolicy:
        size, actions = self.weights.shape
        actor = [(self.weights.copy(), np.zeros(actions, np.float32))]
        critic = [(np.zeros((size, 1), np.float32), np.zeros(1, np.float32))]
        return NetworkPolicy(actor, critic, version=self.version)

    def update(self, rollout: Any, rewards: Any) -> UpdateStats:
        returns, running = np.zeros_like(rewards), np.zeros(rewards.shape[1], np.float32)
        for step in reversed(range(len(rewards))):
            running = rewards[step] + 0.9 * running * ~rollout.ended[step]
            returns[step] = running
        gain = ((returns - returns.mean()) / (returns.std() + 1e-6)).reshape(-1, 1)
        obs = rollout.obs.reshape(rollout.transitions, -1).astype(np.float32)
        logits = obs @ self.weights
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        taken = np.eye(self.weights.shape[1], dtype=np.float32)[rollout.actions.reshape(-1)]
        slope = gain * (taken - shares / shares.sum(axis=1, keepdims=True))
        self.weights += (0.3 * obs.T @ slope / len(obs)).astype(np.float32)
        self.version += 1
        return UpdateStats(0.0, rollout.transitions, {"gain": float(np.abs(slope).mean())})

    def state(self) -> dict[str, Any]:
        return {"weights": self.weights.copy(), "version": np.array(self.version)}

    def load(self, state: Any) -> None:
        self.weights, self.version = np.array(state["weights"]), int(state["version"])


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    return [
        CollectorSpec(
            name="old",
            summary="A collector of 0.1.0",
            factory=f"{__name__}:OldCollector",
            capabilities=frozenset({"deterministic"}),
        )
    ]


@hookimpl
def wfbench_trainers() -> list[TrainerSpec]:
    return [
        TrainerSpec(name="reinforce", summary="A trainer of 0.1.0", factory=f"{__name__}:Reinforce")
    ]
