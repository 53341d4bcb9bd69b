"""What the kit for environments asks of them, and what it says of those that break a promise."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest

from wfbench.contract import EnvInfo, EnvSpec, WorkflowModel
from wfbench.host.options import resolve_options
from wfbench.testing import env_kit

HERE = "wfbench_unit_envs"
UNITS = WorkflowModel(("a", "b", "c"), ("h", "i", "j"), (0, 1, 2), (-1, 0, 1, 2), idle=0)


class Env(gymnasium.Env[Any, Any]):
    """Episodes of 7 steps; observations are noise and the action before. Keeps a log."""

    workflow: WorkflowModel | None = UNITS
    log: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.observation_space: Any = gymnasium.spaces.Box(0, 9, (3,), np.float32)
        self.action_space: Any = gymnasium.spaces.Discrete(4)
        self.made = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.log.append(f"seed {seed}")
        self.steps, self.made = 0, 0 if seed is not None else self.made
        return self.look(0), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.made += 1
        self.log.append(f"step {int(action)}")
        info = {"compromised_hosts": 3, "ended_session": int(action) == 1}
        cut, obs = self.steps == 7, self.look(int(action))
        return self.change(obs, float(action), False, cut, info)  # noqa: FBT003 (terminated)

    def change(self, *seen: Any) -> Any:
        return seen

    def look(self, action: int) -> Any:
        return np.append(self.np_random.random(2), action).astype(np.float32)

    def true_state(self) -> Any:
        return {"steps": self.steps}

    def close(self) -> None:
        self.log.append("close")


class Batch:
    """The batched form of `Env`, row by row."""

    kind: type[Env] = Env

    def __init__(self, num_envs: int) -> None:
        self.envs = [self.kind() for _ in range(num_envs)]
        self.num_envs = num_envs
        self.info = EnvInfo((3,), "float32", 4, self.kind.workflow)

    def reset(self, seeds: Any, obs: Any) -> None:
        for row, env in enumerate(self.envs):
            obs[row] = env.reset(seed=int(seeds[row]))[0]

    def step(self, actions: Any, out: Any) -> None:
        for row, env in enumerate(self.envs):
            obs, out.rewards[row], out.terminated[row], out.truncated[row], info = env.step(
                actions[row]
            )
            out.compromised[row] = info["compromised_hosts"]
            out.ended_session[row] = info["ended_session"]
            if out.truncated[row] or out.terminated[row]:
                out.final_obs[row], obs = obs, env.reset()[0]
            out.obs[row] = obs
            self.change(row, out)

    def change(self, row: int, out: Any) -> None:
        """Leave what was written."""

    def close(self) -> None:
        Env.log.append("close")


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Put an environment to one promise."""
    module = ModuleType(HERE)
    monkeypatch.setitem(sys.modules, HERE, module)

    def put(
        slug: str, env: type = Env, batch: type | None = None, *declared: str
    ) -> tuple[bool | None, str]:
        module.env, module.batch = env, batch  # type: ignore[attr-defined]
        spec = EnvSpec(
            name="x",
            summary="x",
            factory=f"{HERE}:env",
            batched=None if batch is None else f"{HERE}:batch",
            capabilities=frozenset(declared or ("workflow", "true-state")),
        )
        found = env_kit._PROMISES.by_slug[slug].test(
            env_kit._Subject(spec, resolve_options(spec, {})), spec.capabilities
        )
        return found.kept, found.detail

    return put


def runs(log: list[str]) -> Iterator[str]:
    """Yield a log with the actions since a seed in one line."""
    actions = ""
    for line in [*log, "end"]:
        if line.startswith("step"):
            actions += line.removeprefix("step ")
        else:
            if actions:
                yield f"  {len(actions)} steps: {actions}"
            actions = ""
            yield f"  {line}"


def test_what_each_promise_asks_of_an_environment(
    ask: Any, golden: Callable[[str, str], None]
) -> None:
    lines = []
    for slug, promise in env_kit._PROMISES.by_slug.items():
        if slug == "gymnasium-rules":
            continue
        Env.log.clear()
        kept, detail = ask(slug, Env, Batch)
        lines += [f"{slug}: {promise.name}", *runs(Env.log), f"  -> {kept} {detail}"]
    golden("env-kit.txt", "\n".join(lines))


def changing(change: Callable[..., Any]) -> type[Env]:
    return type("Broken", (Env,), {"change": change})


def told(**changed: Any) -> type[Env]:
    """Return an environment that reports this in `info`; None: nothing."""

    def change(_: Any, obs: Any, reward: float, end: bool, cut: bool, info: Any) -> Any:  # noqa: FBT001
        info = {name: value for name, value in {**info, **changed}.items() if value is not None}
        return obs, reward, end, cut, info

    return changing(change)


@pytest.mark.parametrize(
    ("info", "detail"),
    [
        ({"compromised_hosts": 0}, ""),
        ({"compromised_hosts": 7}, ""),
        ({"compromised_hosts": 8}, "step 1: mask 1000 has no such hosts"),
        ({"compromised_hosts": -1}, "step 1: mask -1 has no such hosts"),
        ({"compromised_hosts": None}, "step 1: info has no 'compromised_hosts'"),
        ({"ended_session": None}, "step 1: info has no 'ended_session'"),
        ({"ended_session": np.True_}, ""),
        ({"ended_session": 1}, "step 1: ended_session is 1"),
    ],
)
def test_what_a_step_reports_for_a_workflow(info: Any, detail: str, ask: Any) -> None:
    assert ask("workflow", told(**info)) == (not detail, detail)


def model(**changed: Any) -> type[Env]:
    workflow = SimpleNamespace(**{**vars(UNITS), **changed})
    fake = object.__new__(WorkflowModel)
    for name, value in vars(workflow).items():
        object.__setattr__(fake, name, value)
    return type("Modelled", (told(compromised_hosts=1),), {"workflow": fake})


HOSTS = tuple(map(str, range(33)))


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"units": ()}, "the workflow model has no units or no hosts"),
        ({"hosts": ()}, "the workflow model has no units or no hosts"),
        ({"units": ("a",), "host_unit": (0, 0, 0)}, ""),
        ({"hosts": ("h",), "host_unit": (0,), "fix_host": (-1, 0, 0, -1)}, ""),
        ({"hosts": HOSTS[:32], "host_unit": (0,) * 32}, ""),
        ({"hosts": HOSTS, "host_unit": (0,) * 33}, "33 hosts do not fit a mask of 32 bits"),
        ({"host_unit": (0, 1)}, "host_unit has 2 of 3 entries"),
        ({"host_unit": (0, 1, 3)}, "host_unit names a unit that is not there"),
        ({"host_unit": (0, 1, -1)}, "host_unit names a unit that is not there"),
        ({"fix_host": (-1, 0, 1)}, "fix_host has 3 entries for 4 actions"),
        ({"fix_host": (-1, 0, 1, 3)}, "fix_host names a host that is not there"),
        ({"fix_host": (-2, 0, 1, 2)}, "fix_host names a host that is not there"),
        ({"footholds": (0, 2)}, ""),
        ({"footholds": (3,)}, "footholds names a host that is not there"),
        ({"footholds": (-1,)}, "footholds names a host that is not there"),
        ({"idle": None}, ""),
        ({"idle": 3}, ""),
        ({"idle": 4}, "idle is 4, which is no action"),
        ({"idle": -1}, "idle is -1, which is no action"),
    ],
)
def test_a_workflow_model_must_fit_the_environment(changed: Any, detail: str, ask: Any) -> None:
    assert ask("workflow", model(**changed)) == (not detail, detail)


def test_a_workflow_model_must_be_declared(ask: Any) -> None:
    undeclared = "the env has a workflow model, but does not declare workflow"
    assert ask("workflow", Env, None, "true-state") == (False, undeclared)
    without = type("Without", (Env,), {"workflow": None})
    assert ask("workflow", without, None, "other") == (None, "it does not declare workflow")
    assert ask("workflow", without) == (False, "the attribute workflow is None")
    for slug in ("conditioned", "conditioned-batch"):
        assert ask(slug, without) == (None, "it has no workflow model")
        assert ask(slug, Env, None, "other") == (None, "it does not declare workflow")
    assert ask("conditioned-batch") == (None, "it has no batched form")
    assert ask("batched") == (None, "it has no batched form")


def spaced(**spaces: Any) -> type[Env]:
    def init(self: Env) -> None:
        Env.__init__(self)
        vars(self).update(spaces)

    return type("Spaced", (Env,), {"__init__": init})


@pytest.mark.parametrize(
    ("env", "detail"),
    [
        (Env, ""),
        (spaced(action_space=gymnasium.spaces.Discrete(4, start=1)), "actions do not start at 0"),
        (spaced(action_space=gymnasium.spaces.MultiBinary(4)), "action_space is MultiBinary(4)"),
        (spaced(observation_space=gymnasium.spaces.Discrete(4)), "observation_space is Discrete"),
    ],
)
def test_spaces(env: type, detail: str, ask: Any) -> None:
    kept, found = ask("spaces", env)
    assert (kept, found[: len(detail)]) == (not detail, detail)


def at_step(number: int, **changed: Any) -> type[Env]:
    """Return an environment whose step of that number returns something else."""

    def change(self: Any, obs: Any, reward: Any, end: Any, cut: Any, info: Any) -> Any:
        seen = {"obs": obs, "reward": reward, "end": end, "cut": cut, "info": info}
        if self.made == number:
            seen |= changed
        return tuple(seen.values())

    return changing(change)


@pytest.mark.parametrize("step", [1, 2, 150])
def test_the_step_that_reports_nothing_is_numbered(step: int, ask: Any) -> None:
    said = f"step {step}: info has no 'compromised_hosts'"
    assert ask("workflow", at_step(step, info={})) == (False, said)


LARGE = np.full(3, 10, np.float32)


@pytest.mark.parametrize(
    ("env", "detail"),
    [
        (Env, ""),
        (at_step(3, obs=LARGE), "step 3: observation [10. 10. 10.] is outside its space"),
        (at_step(150, reward=np.inf), "step 150: reward is inf"),
        (at_step(1, reward=np.nan), "step 1: reward is nan"),
        (at_step(2, reward=np.ones(1)), "step 2: reward array([1.]) is not a number"),
        (at_step(151, reward=np.inf), ""),
    ],
)
def test_values(env: type, detail: str, ask: Any) -> None:
    assert ask("values", env) == (not detail, detail)


def second_time(**changed: Any) -> type[Env]:
    """Return an environment of which every second one differs in its third step."""
    count = iter(range(100))

    def init(self: Env) -> None:
        Env.__init__(self)
        self.odd = bool(next(count) % 2)  # type: ignore[attr-defined]

    def change(self: Any, obs: Any, reward: Any, end: Any, cut: Any, info: Any) -> Any:
        seen = {"obs": obs, "reward": reward, "end": end, "cut": cut, "info": dict(info)}
        if self.made == 3 and self.odd:
            seen |= {k: v for k, v in changed.items() if k in seen}
            seen["info"] |= changed.get("told", {})
        elif self.made == 3 and "lost" in changed:
            del seen["info"][changed["lost"]]
        return tuple(seen.values())

    return type("Odd", (Env,), {"__init__": init, "change": change})


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"obs": LARGE}, "step 3, a second env: observation [10. 10. 10.] instead of ["),
        ({"reward": 9.0}, "step 3, a second env: reward 9.0 instead of 0.0"),
        ({"reward": 1e-50}, ""),
        ({"end": True}, "step 3, a second env: observation "),
        (
            {"told": {"compromised_hosts": 1}},
            "step 3, a second env: compromised_hosts 1 instead of 3",
        ),
        (
            {"told": {"ended_session": 7}},
            "step 3, a second env: ended_session 7 instead of False",
        ),
        ({"told": {"other": 7}}, ""),
        (
            {"lost": "compromised_hosts"},
            "step 3, a second env: compromised_hosts 3 instead of None",
        ),
    ],
)
def test_the_first_difference_of_two_traces_is_told(changed: Any, detail: str, ask: Any) -> None:
    kept, found = ask("determinism", second_time(**changed))
    assert (kept, found[: len(detail)]) == (not detail, detail)


@pytest.mark.parametrize(
    ("env", "detail"),
    [
        (
            type("Reads", (Env,), {"look": lambda *_: np.full(3, random.random(), np.float32)}),  # noqa: S311
            "the global random state was changed",
        ),
        (
            type("Draws", (Env,), {"look": lambda *_: np.random.random(3).astype("f4")}),  # noqa: NPY002
            "the global random state was changed",
        ),
        (
            type(
                "Peeks",
                (Env,),
                {"look": lambda *_: np.full(3, random.getstate()[1][5] % 9973, np.float32)},
            ),
            "step 0, with another global random state: observation ",
        ),
    ],
)
def test_global_random_state_is_neither_read_nor_changed(env: type, detail: str, ask: Any) -> None:
    random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
    kept, found = ask("isolation", env)
    assert (kept, found[: len(detail)]) == (False, detail)
    now = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
    assert now == before


@pytest.mark.parametrize(
    ("state", "detail"), [({}, "true_state() returned {}"), ([1], "true_state() returned [1]")]
)
def test_the_true_state_is_a_mapping_with_something_in_it(
    state: Any, detail: str, ask: Any
) -> None:
    broken = type("Broken", (Env,), {"true_state": lambda _: state})
    assert ask("true-state", broken) == (False, detail)


def batch_at(step: int, row: int, name: str, value: Any) -> type[Batch]:
    """Return a batch that writes something else in one row of one step."""

    def change(self: Any, at: int, out: Any) -> None:
        if at == row and self.envs[at].made == step:
            getattr(out, name)[at] = value

    return type("Broken", (Batch,), {"change": change})


@pytest.mark.parametrize(
    ("batch", "detail"),
    [
        (Batch, ""),
        (batch_at(4, 0, "rewards", 9), "step 4, row 0 of 4: reward 9.0 instead of "),
        (batch_at(4, 3, "rewards", 9), "step 4, row 3 of 4: reward 9.0 instead of "),
        (batch_at(7, 1, "final_obs", 9), "step 7, row 1 of 4: another final observation"),
        (batch_at(6, 1, "final_obs", 9), ""),
        (
            batch_at(7, 2, "terminated", True),  # noqa: FBT003 (a value)
            "step 7, row 2 of 4: (terminated, truncated) (True, True) instead of (False, True)",
        ),
        (
            batch_at(4, 0, "terminated", True),  # noqa: FBT003 (a value)
            "step 4, row 0 of 4: (terminated, truncated) (True, False) instead of (False, False)",
        ),
        (batch_at(4, 0, "compromised", 9), "step 4, row 0 of 4: compromised_hosts 9 instead of 3"),
        (batch_at(150, 0, "rewards", 9), "step 150, row 0 of 4: reward 9.0 instead of "),
        (batch_at(4, 1, "obs", 8), "step 4, row 1 of 4: observation [8. 8. 8.] instead of "),
    ],
)
def test_a_batched_form_is_compared_row_by_row(batch: type, detail: str, ask: Any) -> None:
    kept, found = ask("batched", Env, batch)
    assert (kept, found[: len(detail)]) == (not detail, detail)
    if detail and "compromised" not in detail:
        kept, found = ask("conditioned-batch", Env, batch)
        assert kept is False
        assert found.split(":")[0].startswith(f"step {detail.split()[1].strip(',')}, env ")


def test_what_only_one_form_reports_is_not_compared(ask: Any) -> None:
    silent = told(compromised_hosts=None)
    assert ask("batched", silent, Batch) == (True, "")
    assert ask("conditioned-batch", silent, Batch) == (True, "")


class Shown:
    """An environment that shows orders, with a change."""

    def __init__(self, inner: Any, change: Callable[[Any, int], Any]) -> None:
        self.inner, self.change, self.made = inner, change, 0
        self.action_space = inner.action_space

    def reset(self, **given: Any) -> Any:
        obs, info = self.inner.reset(**given)
        return self.change(obs, self.made), info

    def step(self, action: Any) -> Any:
        self.made += 1
        obs, *rest = self.inner.step(action)
        return (self.change(obs, self.made), *rest)

    def close(self) -> None:
        self.inner.close()


def flipped(obs: Any, feature: int) -> Any:
    changed = obs.copy()
    changed[feature] = 1 - changed[feature]
    return changed


def other_order(obs: Any) -> Any:
    changed = obs.copy()
    changed[-3:] = 1 - changed[-3:]
    return changed


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda obs, _: obs, ""),
        (lambda obs, made: other_order(obs) if made >= 4 else obs, "step 4: the order changed "),
        (lambda obs, made: other_order(obs) if made < 1 else obs, "step 1: the order changed "),
        (
            lambda obs, made: flipped(obs, 0) if made == 5 else obs,
            "step 5, without the order: observation ",
        ),
        (
            lambda obs, made: flipped(obs, 2) if made == 0 else obs,
            "step 0, without the order: observation ",
        ),
    ],
)
def test_the_order_that_is_shown_stays_for_an_episode(
    change: Any, detail: str, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = env_kit.conditioned

    def conditioned(ref: Any) -> Any:
        return SimpleNamespace(make=lambda: Shown(real(ref).make(), change))

    monkeypatch.setattr(env_kit, "conditioned", conditioned)
    kept, found = ask("conditioned")
    assert (kept, found[: len(detail)]) == (not detail, detail)


def test_close_is_called_twice(ask: Any) -> None:
    class Once(Env):
        def close(self) -> None:
            if vars(self).get("closed"):
                raise RuntimeError("closed already")
            self.closed = True

    assert ask("closing")[0] is True
    assert ask("closing", Once)[1].startswith("raised RuntimeError: closed already (")


def test_a_warning_of_gymnasium_and_a_missing_render_mode_do_no_harm(ask: Any) -> None:
    unbounded = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    assert ask("gymnasium-rules", spaced(observation_space=unbounded)) == (True, "")
    registered = gymnasium.envs.registration.EnvSpec("Odd-v0", entry_point=Env)
    odd = type("Odd", (Env,), {"metadata": {"render_modes": ["human"]}, "spec": registered})
    assert ask("gymnasium-rules", odd) == (True, "")
    small = gymnasium.spaces.Box(0, 0.5, (3,), np.float32)
    assert ask("gymnasium-rules", spaced(observation_space=small))[0] is False
