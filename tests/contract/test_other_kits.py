"""The kits for environments, trainers and searchers notice every promise that is broken."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

from wfbench.contract import (
    EnvSpec,
    Order,
    Outcome,
    SearcherSetup,
    SearcherSpec,
    TrainerSetup,
    TrainerSpec,
    UpdateStats,
    WorkflowModel,
)
from wfbench.policies import NetworkPolicy
from wfbench.testing import PromiseResult, check_env, check_searcher, check_trainer

HERE = "wfbench_kit_subjects"


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[[type], str]:
    """Make a class importable and return its import path."""
    module = ModuleType(HERE)
    monkeypatch.setitem(sys.modules, HERE, module)

    def place(subject: type) -> str:
        setattr(module, subject.__name__, subject)
        return f"{HERE}:{subject.__name__}"

    return place


def broken(promises: list[PromiseResult]) -> dict[str, str]:
    return {promise.name: promise.detail for promise in promises if promise.kept is False}


class Env(gymnasium.Env[Any, Any]):
    """An environment that keeps every promise; each subclass breaks one."""

    workflow: WorkflowModel | None = None

    def __init__(self) -> None:
        self.observation_space: Any = gymnasium.spaces.Box(0, 1, (2,), np.float32)
        self.action_space: Any = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.steps = 0
        return self.look(), {}

    def step(self, action: Any) -> Any:  # noqa: ARG002 - gymnasium's signature
        self.steps += 1
        info = {"compromised_hosts": 1, "ended_session": False}
        return self.look(), 1.0, False, self.steps == 7, info

    def look(self) -> Any:
        return self.np_random.random(2).astype(np.float32)


class Batch:
    """The batched form of `Env`, row by row."""

    def __init__(self, num_envs: int) -> None:
        self.envs = [Env() for _ in range(num_envs)]
        self.num_envs = num_envs

    @property
    def info(self) -> Any:
        from wfbench.contract import EnvInfo

        return EnvInfo((2,), "float32", 3)

    def reset(self, seeds: Any, obs: Any) -> None:
        for row, env in enumerate(self.envs):
            obs[row] = env.reset(seed=int(seeds[row]))[0]

    def step(self, actions: Any, out: Any) -> None:
        for row, env in enumerate(self.envs):
            obs, reward, terminated, truncated, info = env.step(actions[row])
            out.rewards[row], out.terminated[row], out.truncated[row] = (
                reward,
                terminated,
                truncated,
            )
            out.compromised[row] = info["compromised_hosts"]
            out.ended_session[row] = info["ended_session"]
            if truncated:
                out.final_obs[row] = obs
                obs = env.reset()[0]
            out.obs[row] = obs

    def close(self) -> None:
        pass


def test_a_good_env_keeps_every_promise(put: Any) -> None:
    spec = EnvSpec(name="x", summary="x", factory=put(Env), batched=put(Batch))
    told: list[PromiseResult] = []
    promises = check_env(spec, progress=told.append)
    assert broken(promises) == {}
    assert told == promises
    assert sum(promise.kept is True for promise in promises) == 7


class ContinuousActions(Env):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)


class OutsideItsSpace(Env):
    def look(self) -> Any:
        return super().look() + 5


class EndlessReward(Env):
    def step(self, action: Any) -> Any:
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float("inf"), terminated, truncated, info


class Unseeded(Env):
    def look(self) -> Any:
        return np.random.default_rng().random(2).astype(np.float32)


class GlobalNumpy(Env):
    def look(self) -> Any:
        super().look()
        return np.random.random(2).astype(np.float32)  # noqa: NPY002 - the fault


class GlobalRandom(Env):
    def look(self) -> Any:
        random.random()  # noqa: S311 - the fault
        return super().look()


class HiddenWorkflow(Env):
    workflow = WorkflowModel(("a",), ("h",), (0,), (-1, 0, -1))


class ClosesOnce(Env):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


@pytest.mark.parametrize(
    ("subject", "promise"),
    [
        (ContinuousActions, "observations are a Box and actions are Discrete"),
        (OutsideItsSpace, "observations lie in their space and rewards are finite"),
        (OutsideItsSpace, "gymnasium's own checker finds nothing wrong"),
        (EndlessReward, "observations lie in their space and rewards are finite"),
        (Unseeded, "the same seed and actions give the same episodes"),
        (GlobalNumpy, "no global random state is read or changed"),
        (GlobalRandom, "no global random state is read or changed"),
        (HiddenWorkflow, "a workflow model is complete, and step() reports what it needs"),
        (ClosesOnce, "close() may be called twice"),
    ],
)
def test_a_broken_promise_of_an_env_is_noticed(subject: type, promise: str, put: Any) -> None:
    spec = EnvSpec(name="x", summary="x", factory=put(subject))
    assert promise in broken(check_env(spec))


class Model(Env):
    workflow = WorkflowModel(("a", "b"), ("h", "i"), (0, 1), (-1, 0, 1))


class ShortModel(Env):
    workflow = WorkflowModel(("a", "b"), ("h", "i"), (0, 1), (-1, 0))


class SilentModel(Model):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {})


class WideMask(Model):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {"compromised_hosts": 9, "ended_session": True})


@pytest.mark.parametrize(
    ("subject", "detail"),
    [
        (Env, "the attribute workflow is None"),
        (ShortModel, "fix_host has 2 entries for 3 actions"),
        (SilentModel, "info has no 'compromised_hosts'"),
        (WideMask, "mask 1001 has no such hosts"),
    ],
)
def test_an_incomplete_workflow_model_is_noticed(subject: type, detail: str, put: Any) -> None:
    capabilities = frozenset({"workflow"})
    spec = EnvSpec(name="x", summary="x", factory=put(subject), capabilities=capabilities)
    [found] = broken(check_env(spec)).values()
    assert detail in found
    good = EnvSpec(name="x", summary="x", factory=put(Model), capabilities=capabilities)
    assert broken(check_env(good)) == {}


class LateReset(Batch):
    def step(self, actions: Any, out: Any) -> None:
        super().step(actions, out)
        out.obs[out.truncated] = out.final_obs[out.truncated]


class SharedStream(Batch):
    def reset(self, seeds: Any, obs: Any) -> None:
        super().reset(np.full_like(seeds, seeds[0]), obs)


@pytest.mark.parametrize("subject", [LateReset, SharedStream])
def test_a_batched_form_with_other_episodes_is_noticed(subject: type, put: Any) -> None:
    spec = EnvSpec(name="x", summary="x", factory=put(Env), batched=put(subject))
    assert list(broken(check_env(spec))) == [
        "the batched form has the scalar form's episodes, at any position"
    ]


class Trainer:
    """A trainer that keeps every promise; each subclass breaks one."""

    def __init__(self, setup: TrainerSetup) -> None:
        self.setup = setup
        self.updates = 0
        self.weights = NetworkPolicy.initial(7, 5, setup.seed, hidden=())

    def start(self, order: Order, inherit: Any = None) -> None:
        del order
        if inherit is not None:
            self.load(inherit)

    def policy(self) -> Any:
        actor, critic = self.weights.actor, self.weights.critic
        return NetworkPolicy(actor, critic, version=self.updates)

    def update(self, rollout: Any, rewards: Any) -> UpdateStats:
        self.updates += 1
        self.weights.actor[0][0][:, 0] += 0.1 * float(rewards.mean())
        return UpdateStats(0.0, rollout.transitions, {"mean": float(rewards.mean())})

    def state(self) -> Mapping[str, Any]:
        return {"weights": self.weights.actor[0][0].copy(), "updates": np.array(self.updates)}

    def load(self, state: Any) -> None:
        self.weights.actor[0][0][:] = state["weights"]
        self.updates = int(state["updates"])


def test_a_good_trainer_keeps_every_promise(put: Any) -> None:
    spec = TrainerSpec(name="x", summary="x", factory=put(Trainer))
    assert broken(check_trainer(spec)) == {}


class SameVersion(Trainer):
    def policy(self) -> Any:
        return NetworkPolicy(self.weights.actor, self.weights.critic)


class WrongCount(Trainer):
    def update(self, rollout: Any, rewards: Any) -> UpdateStats:
        return UpdateStats(0.0, super().update(rollout, rewards).transitions + 1)


class NanLoss(Trainer):
    def update(self, rollout: Any, rewards: Any) -> UpdateStats:
        super().update(rollout, rewards)
        return UpdateStats(0.0, rollout.transitions, {"loss": float("nan")})


class ChangesRewards(Trainer):
    def update(self, rollout: Any, rewards: Any) -> UpdateStats:
        stats = super().update(rollout, rewards)
        rewards -= rewards.mean()
        return stats


class Aliased(Trainer):
    """Its snapshots share memory with the weights it goes on changing."""

    def policy(self) -> Any:
        policy = super().policy()
        policy.actor = self.weights.actor
        return policy


class Moody(Trainer):
    def __init__(self, setup: TrainerSetup) -> None:
        super().__init__(setup)
        self.weights = NetworkPolicy.initial(7, 5, random.getrandbits(30), hidden=())


class Forgetful(Trainer):
    def load(self, state: Any) -> None:
        self.updates = int(state["updates"])


class ObjectState(Trainer):
    def state(self) -> Mapping[str, Any]:
        return {**super().state(), "extra": np.array([object()])}


class BatchNormal:
    """A policy whose answer to one row depends on the others."""

    version = 0

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.version = inner.version

    def act(self, obs: Any, draws: Any) -> Any:
        acts = self.inner.act(obs, draws)
        return acts._replace(actions=(acts.actions + (len(obs) > 1)) % 5)

    def snapshot(self) -> Any:
        return self.inner.snapshot()


class BatchDependent(Trainer):
    def policy(self) -> Any:
        return BatchNormal(super().policy())


class TorchOnRestore(Trainer):
    def policy(self) -> Any:
        policy = super().policy()
        original = policy.snapshot

        def snapshot() -> Any:
            from dataclasses import replace

            return replace(original(), restore="torch:nn")

        policy.snapshot = snapshot
        return policy


class SureActions(Trainer):
    def policy(self) -> Any:
        policy = super().policy()
        original = policy.act

        def act(obs: Any, draws: Any) -> Any:
            return original(obs, draws)._replace(log_probs=np.ones(len(obs), np.float32))

        policy.act = act
        return policy


@pytest.mark.parametrize(
    ("subject", "promise"),
    [
        (SureActions, "the policy answers every row: action, log-probability and value"),
        (BatchDependent, "a row's action does not depend on the batch it is in"),
        (SameVersion, "the version rises with every update"),
        (WrongCount, "an update reports its transitions and finite numbers"),
        (NanLoss, "an update reports its transitions and finite numbers"),
        (ChangesRewards, "an update leaves the rollout and the rewards as they were"),
        (Aliased, "a snapshot stays what it was and gives the same actions"),
        (TorchOnRestore, "a worker restores the snapshot without a learning library"),
        (Moody, "the same seed and data give the same policy"),
        (Forgetful, "state() is arrays, and load() goes on as if never interrupted"),
        (ObjectState, "state() is arrays, and load() goes on as if never interrupted"),
        (ObjectState, "another order can inherit what was learned"),
    ],
)
def test_a_broken_promise_of_a_trainer_is_noticed(subject: type, promise: str, put: Any) -> None:
    spec = TrainerSpec(name="x", summary="x", factory=put(subject))
    assert promise in broken(check_trainer(spec))


class Searcher:
    """A searcher that keeps every promise; each subclass breaks one."""

    def __init__(self, setup: SearcherSetup) -> None:
        self.setup, self.told = setup, 0

    def ask(self) -> Order:
        rng = np.random.default_rng([self.setup.seed, self.told])
        return tuple(int(unit) for unit in rng.permutation(self.setup.num_units))

    def tell(self, order: Order, outcome: Outcome) -> None:
        del order, outcome
        self.told += 1

    def state(self) -> Mapping[str, Any]:
        return {"told": self.told}

    def load(self, state: Mapping[str, Any]) -> None:
        self.told = state["told"]


def test_a_good_searcher_keeps_every_promise(put: Any) -> None:
    spec = SearcherSpec(name="x", summary="x", factory=put(Searcher))
    assert broken(check_searcher(spec)) == {}


class Repeating(Searcher):
    def ask(self) -> Order:
        return (0,) * self.setup.num_units


class NumpyUnits(Searcher):
    def ask(self) -> Order:
        return tuple(np.array(super().ask()))


class Moving(Searcher):
    def ask(self) -> Order:
        random.seed()
        return tuple(random.sample(range(self.setup.num_units), self.setup.num_units))


class Amnesiac(Searcher):
    def load(self, state: Mapping[str, Any]) -> None:
        pass


class BinaryState(Searcher):
    def state(self) -> Mapping[str, Any]:
        return {"told": np.int64(self.told)}


class Fussy(Searcher):
    def tell(self, order: Order, outcome: Outcome) -> None:
        super().tell(order, outcome)
        if not outcome.compliant:
            raise ValueError("that went wrong")


class Generous(Searcher):
    def ask_batch(self, n: int) -> list[Order]:
        return [self.ask()] * (n if n == 1 else n + 1)


class Drifting(Searcher):
    asked = 0

    def ask_batch(self, n: int) -> list[Order]:
        Drifting.asked += n
        order = self.ask()
        return [order] if n == 1 or Drifting.asked > 14 else [order, order]


@pytest.mark.parametrize(
    ("subject", "promise"),
    [
        (Generous, "orders asked together are orders, and the same again"),
        (Drifting, "orders asked together are orders, and the same again"),
        (Repeating, "every order is a permutation of the units"),
        (NumpyUnits, "every order is a permutation of the units"),
        (Moving, "the same seed and outcomes give the same orders"),
        (Amnesiac, "state() is JSON, and load() goes on as if never interrupted"),
        (BinaryState, "state() is JSON, and load() goes on as if never interrupted"),
        (Fussy, "an order whose training failed is data, not an end"),
    ],
)
def test_a_broken_promise_of_a_searcher_is_noticed(subject: type, promise: str, put: Any) -> None:
    batches = frozenset({"batches"} if hasattr(subject, "ask_batch") else ())
    spec = SearcherSpec(name="x", summary="x", factory=put(subject), capabilities=batches)
    assert promise in broken(check_searcher(spec))
