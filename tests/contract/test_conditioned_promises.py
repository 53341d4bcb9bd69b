"""The kits notice a collector or an environment that gets episodes with orders wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

from wfbench.contract import CollectorSpec, EnvInfo, EnvSpec, WorkflowModel
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.testing import PromiseResult, check_collector, check_env

THIRD_PARTY = Path(__file__).parents[1] / "data" / "third_party"
SLUG = "same-transitions-conditioned"
SHOWN = "asked to show orders, it has the same episodes, each with its order"
BATCHED = "its batched form agrees when it shows orders and holds blue"
HERE = "wfbench_conditioned_subjects"
BAD = '''
from __future__ import annotations

import dataclasses

import numpy as np

from wfbench.contract import load_object
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.vector import VectorCollector


class BuildsEnvsItself(SequentialCollector):
    """Ignores the form of the environment."""

    def open(self, plan):
        plain = dataclasses.replace(plan.env, form={})
        return super().open(dataclasses.replace(plan, env=plain))


class OneOrderForever(SequentialCollector):
    """Shows the first episode's order in every later one."""

    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        bits = 10 if rollout.obs.shape[2] > 60 else 0
        obs = rollout.obs.copy()
        self.first = getattr(self, "first", obs[0])
        obs[:, :, obs.shape[2] - bits :] = self.first[:, obs.shape[2] - bits :]
        return dataclasses.replace(rollout, obs=obs)


class RecordsIdle(SequentialCollector):
    """Writes another action where blue is held than the policy chose."""

    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        if rollout.obs.shape[2] <= 60:
            return rollout
        actions = rollout.actions.copy()
        actions[rollout.first_step.max() == 0] = 0
        return dataclasses.replace(rollout, actions=actions)
'''


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], CollectorSpec]:
    (tmp_path / "bad_conditioned.py").write_text(BAD)
    monkeypatch.syspath_prepend(str(tmp_path))

    def spec(name: str) -> CollectorSpec:
        return CollectorSpec(
            name="bad",
            summary="breaks one promise",
            factory=f"bad_conditioned:{name}",
            capabilities=frozenset({"deterministic"}),
        )

    return spec


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("BuildsEnvsItself", "obs has the shape (12, 5, 52), not (12, 5, 62)"),
        ("OneOrderForever", "obs[52] of env 0 at step 5 is 1, not 0"),
        ("RecordsIdle", "actions of env 0 at step 0 is 0, not 3"),
    ],
)
def test_a_collector_that_gets_orders_wrong_is_noticed(
    bad: Callable[[str], CollectorSpec], name: str, detail: str
) -> None:
    plain, found = check_collector(bad(name), only=("same-transitions", SLUG))
    assert plain.kept is True, plain.detail
    assert found.kept is False
    assert detail in found.detail


def test_a_collector_from_before_this_change_keeps_the_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(THIRD_PARTY))
    old = CollectorSpec(
        name="old",
        summary="x",
        factory="before_forms:OldCollector",
        capabilities=frozenset({"deterministic"}),
    )
    told = {one.slug: one for one in check_collector(old, only=("same-transitions", SLUG))}
    assert {slug: (one.kept, one.detail) for slug, one in told.items()} == {
        "same-transitions": (True, ""),
        SLUG: (True, ""),
    }


@pytest.mark.parametrize("name", ["cage2", "synthetic", "synthetic-batch"])
def test_our_environments_keep_every_promise(name: str) -> None:
    spec = load_plugins(PluginSettings(external=False)).find("env", name).spec
    assert isinstance(spec, EnvSpec)
    found = {one.name: one for one in check_env(spec)}
    assert [one for one in found.values() if one.kept is False] == []
    assert found[SHOWN].kept is True
    assert found[BATCHED].kept is (True if spec.batched else None)


class Env(gymnasium.Env[Any, Any]):
    """Episodes of 7 steps whose observations are noise and the action of the step before."""

    workflow: WorkflowModel | None = WorkflowModel(
        ("a", "b", "c"), ("h", "i", "j"), (0, 1, 2), (-1, 0, 1, 2), idle=0
    )

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 4, (3,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        self.steps = 0
        return self.look(0), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        info = {"compromised_hosts": 3, "ended_session": int(action) == 1}
        return self.look(int(action)), float(action), False, self.steps == 7, info

    def look(self, action: int) -> Any:
        return np.append(self.np_random.random(2), action).astype(np.float32)


class Batch:
    """The batched form of `Env`, row by row; `late` leaves the step in which an episode ends."""

    kind: type = Env

    def __init__(self, num_envs: int) -> None:
        self.envs = [self.kind() for _ in range(num_envs)]
        self.num_envs = num_envs
        self.info = EnvInfo((3,), "float32", 4, Env.workflow)

    def reset(self, seeds: Any, obs: Any) -> None:
        for row, env in enumerate(self.envs):
            obs[row] = env.reset(seed=int(seeds[row]))[0]

    def step(self, actions: Any, out: Any) -> None:
        for row, env in enumerate(self.envs):
            obs, reward, terminated, truncated, info = env.step(actions[row])
            out.rewards[row], out.terminated[row] = reward, terminated
            out.truncated[row] = truncated
            out.compromised[row] = info["compromised_hosts"]
            out.ended_session[row] = info["ended_session"]
            if truncated:
                out.final_obs[row], obs = obs, env.reset()[0]
            out.obs[row] = obs

    def close(self) -> None:
        pass


class ModelWithAnotherIdle(Batch):
    """Its model says that another action is the idle one."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(num_envs)
        assert Env.workflow is not None
        self.info = EnvInfo((3,), "float32", 4, replace(Env.workflow, idle=2))


class NoSuchIdle(Env):
    workflow = WorkflowModel(("a", "b"), ("h", "i"), (0, 1), (-1, 0, 1, -1), idle=4)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[..., EnvSpec]:
    module = ModuleType(HERE)
    monkeypatch.setitem(sys.modules, HERE, module)

    def place(env: type, batch: type | None = None) -> EnvSpec:
        for subject in (env, batch):
            if subject is not None:
                setattr(module, subject.__name__, subject)
        return EnvSpec(
            name="x",
            summary="x",
            factory=f"{HERE}:{env.__name__}",
            batched=None if batch is None else f"{HERE}:{batch.__name__}",
            capabilities=frozenset({"workflow"}),
        )

    return place


def broken(promises: list[PromiseResult]) -> dict[str, str]:
    return {promise.name: promise.detail for promise in promises if promise.kept is False}


def test_a_good_env_keeps_the_promises_about_orders(put: Callable[..., EnvSpec]) -> None:
    found = check_env(put(Env, Batch))
    assert broken(found) == {}
    assert {one.kept for one in found if one.name in (SHOWN, BATCHED)} == {True}


def test_a_batched_form_that_holds_blue_otherwise_is_noticed(put: Callable[..., EnvSpec]) -> None:
    assert list(broken(check_env(put(Env, ModelWithAnotherIdle)))) == [BATCHED]


def test_an_idle_action_that_is_not_there_is_noticed(put: Callable[..., EnvSpec]) -> None:
    found = broken(check_env(put(NoSuchIdle)))
    assert "idle is 4, which is no action" in found.values()


def test_an_env_without_a_workflow_model_is_not_asked_for_orders() -> None:
    spec = EnvSpec(name="x", summary="x", factory="gymnasium.envs.classic_control:CartPoleEnv")
    found = {one.name: one for one in check_env(spec)}
    assert (found[SHOWN].kept, found[BATCHED].kept) == (None, None)
