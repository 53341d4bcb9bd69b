"""The promises of an environment, tested on episodes that are recorded step by step."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check
from numpy.typing import NDArray

from wfbench.collecting.seeding import env_seeds
from wfbench.contract import EnvRef, EnvSpec, StepArrays, WorkflowModel
from wfbench.contract.forms import PAIRS, FormOptions, shaped_ref
from wfbench.contract.record import INFO_FIELDS, INFO_TYPES
from wfbench.orders.codes import OrderCode
from wfbench.orders.forms import ALL, conditioned
from wfbench.settings.selection import spec_ref

from .promise import DoesNotApply, Progress, PromiseResult, Promises, expect

_SEEDS = env_seeds(11, 4)
_STEPS = 150
_HOLD = "1-4"

_PROMISES: Promises[_Subject] = Promises()


def check_env(
    spec: EnvSpec, options: Mapping[str, Any] | None = None, *, progress: Progress | None = None
) -> list[PromiseResult]:
    """Test whether an environment keeps every promise, built with these options."""
    return _PROMISES.test(_Subject, spec, options, progress)


@dataclass(frozen=True)
class _Subject:
    spec: EnvSpec
    options: Mapping[str, Any]

    @property
    def ref(self) -> EnvRef:
        return spec_ref(self.spec, self.options)

    def env(self) -> closing[gymnasium.Env[Any, Any]]:
        return closing(self.ref.make())

    def trace(self, seed: int) -> list[_Step]:
        with self.env() as env:
            return _trace_scalar(env, seed)

    @_PROMISES.add("observations are a Box and actions are Discrete")
    def spaces(self) -> None:
        with self.env() as env:
            box, actions = env.observation_space, env.action_space
            expect(isinstance(box, gymnasium.spaces.Box), f"observation_space is {box}")
            expect(isinstance(actions, gymnasium.spaces.Discrete), f"action_space is {actions}")
            expect(getattr(actions, "start", 0) == 0, "actions do not start at 0")

    @_PROMISES.add("gymnasium's own checker finds nothing wrong")
    def gymnasium_rules(self) -> None:
        with self.env() as env, warnings.catch_warnings():
            # Its warnings are advice, such as to prefer bounded observations.
            warnings.simplefilter("ignore")
            gymnasium_check(env.unwrapped, skip_render_check=True)

    @_PROMISES.add("observations lie in their space and rewards are finite")
    def values(self) -> None:
        with self.env() as env:
            for step, seen in enumerate(_trace_scalar(env, _SEEDS[0])):
                inside = env.observation_space.contains(seen.obs)
                expect(inside, f"step {step}: observation {seen.obs} is outside its space")
                reward = seen.reward
                expect(np.ndim(reward) == 0, f"step {step}: reward {reward!r} is not a number")
                expect(np.isfinite(reward), f"step {step}: reward is {reward}")

    @_PROMISES.add("the same seed and actions give the same episodes")
    def determinism(self) -> None:
        with self.env() as one, self.env() as other:
            for seed, where in ((_SEEDS[0], "a second env"), (_SEEDS[1], "seeded again")):
                _expect_same(_trace_scalar(one, seed), _trace_scalar(other, seed), where)

    @_PROMISES.add("no global random state is read or changed")
    def isolation(self) -> None:
        kept = random.getstate(), np.random.get_state()  # noqa: NPY002 - the state that is watched
        try:
            first = self.trace(_SEEDS[0])
            random.seed(1)
            np.random.seed(1)  # noqa: NPY002 - as above
            watched = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
            second = self.trace(_SEEDS[0])
            now = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
            expect(watched == now, "the global random state was changed")
            _expect_same(first, second, "with another global random state")
        finally:
            random.setstate(kept[0])
            np.random.set_state(kept[1])  # noqa: NPY002 - as above

    @_PROMISES.add("a workflow model is complete, and step() reports what it needs")
    def workflow(self) -> None:
        with self.env() as env:
            model = getattr(env.unwrapped, "workflow", None)
            if "workflow" not in self.spec.capabilities:
                expect(model is None, "the env has a workflow model, but does not declare workflow")
                raise DoesNotApply("it does not declare workflow")
            expect(isinstance(model, WorkflowModel), f"the attribute workflow is {model!r}")
            _check_model(model, int(env.action_space.n))  # type: ignore[attr-defined]
            for step, (*_, info) in enumerate(_trace_scalar(env, _SEEDS[0])[1:], start=1):
                for key in INFO_TYPES:
                    expect(key in info, f"step {step}: info has no {key!r}")
                mask = int(info["compromised_hosts"])
                hosts = len(model.hosts)  # type: ignore[union-attr]
                expect(0 <= mask < 1 << hosts, f"step {step}: mask {mask:b} has no such hosts")
                ended = info["ended_session"]
                expect(
                    isinstance(ended, bool | np.bool_), f"step {step}: ended_session is {ended!r}"
                )

    @_PROMISES.add("true_state() describes the state on request", needs=("true-state",))
    def true_state(self) -> None:
        with self.env() as env:
            env.reset(seed=_SEEDS[0])
            state = env.unwrapped.true_state()  # type: ignore[attr-defined]
            expect(isinstance(state, Mapping) and state, f"true_state() returned {state!r}")

    @_PROMISES.add("the batched form has the scalar form's episodes, at any position")
    def batched(self) -> None:
        if self.spec.batched is None:
            raise DoesNotApply("it has no batched form")
        scalars = [self.trace(seed) for seed in _SEEDS]
        for rows in ((0, 1, 2, 3), (3, 0), (2,)):
            traces = _trace_batch(self.ref, [_SEEDS[row] for row in rows])
            for position, (row, trace) in enumerate(zip(rows, traces, strict=True)):
                _expect_same(scalars[row], trace, f"row {position} of {len(rows)}", infos=False)

    @_PROMISES.add("asked to show orders, it has the same episodes, each with its order")
    def conditioned(self) -> None:
        plain, model = self._unshaped()
        shown = conditioned(plain)
        for seed in _SEEDS:
            with closing(plain.make()) as one, closing(shown.make()) as other:
                traces = _trace_scalar(one, seed), _trace_scalar(other, seed)
            _expect_shown(*traces, OrderCode(PAIRS, len(model.units)))

    @_PROMISES.add("its batched form agrees when it shows orders and holds blue")
    def conditioned_batch(self) -> None:
        plain, model = self._unshaped()
        if self.spec.batched is None:
            raise DoesNotApply("it has no batched form")
        hold = "" if model.idle is None else _HOLD
        held = shaped_ref(plain, FormOptions(orders=ALL, hold=hold, hold_share=0.5))
        for rows in ((0, 1, 2, 3), (2,)):
            traces = _trace_batch(held, [_SEEDS[row] for row in rows])
            for row, trace in zip(rows, traces, strict=True):
                with closing(held.make()) as env:
                    scalar = _trace_scalar(env, _SEEDS[row])
                _expect_same(scalar, trace, f"env {row} of {len(rows)}", infos=False)

    def _unshaped(self) -> tuple[EnvRef, WorkflowModel]:
        """Return the environment as it is without a form, and its workflow model."""
        if "workflow" not in self.spec.capabilities:
            raise DoesNotApply("it does not declare workflow")
        with self.env() as env:
            model = getattr(env.unwrapped, "workflow", None)
        if not isinstance(model, WorkflowModel):
            raise DoesNotApply("it has no workflow model")
        return replace(self.ref, form={}), model

    @_PROMISES.add("close() may be called twice")
    def closing(self) -> None:
        env = self.ref.make()
        env.reset(seed=1)
        env.close()
        env.close()


def _check_model(model: Any, num_actions: int) -> None:
    units, hosts = len(model.units), len(model.hosts)
    expect(units >= 1 and hosts >= 1, "the workflow model has no units or no hosts")
    expect(hosts <= 32, f"{hosts} hosts do not fit a mask of 32 bits")
    mapped = len(model.host_unit)
    expect(mapped == hosts, f"host_unit has {mapped} of {hosts} entries")
    expect(all(0 <= u < units for u in model.host_unit), "host_unit names a unit that is not there")
    fixes = len(model.fix_host)
    expect(fixes == num_actions, f"fix_host has {fixes} entries for {num_actions} actions")
    expect(all(-1 <= h < hosts for h in model.fix_host), "fix_host names a host that is not there")
    expect(all(0 <= h < hosts for h in model.footholds), "footholds names a host that is not there")
    idle = model.idle is None or 0 <= model.idle < num_actions
    expect(idle, f"idle is {model.idle}, which is no action")


class _Step(NamedTuple):
    """What an env returned, and the observation to act on next; the first step is the reset."""

    obs: NDArray[Any]
    reward: Any = 0.0
    ends: tuple[bool, bool] = (False, False)
    """Terminated, truncated."""
    final_obs: Any = None
    """None where no episode ended."""
    info: Mapping[str, Any] = MappingProxyType({})


def _actions(num_actions: int) -> list[int]:
    return [int(a) for a in np.random.default_rng(5).integers(num_actions, size=_STEPS)]


def _trace_scalar(env: gymnasium.Env[Any, Any], seed: int) -> list[_Step]:
    """Record an env from this seed on, over as many episodes as it takes."""
    trace = [_Step(np.array(env.reset(seed=seed)[0]))]
    for action in _actions(int(env.action_space.n)):  # type: ignore[attr-defined]
        obs, reward, terminated, truncated, info = env.step(np.int64(action))
        obs, final = np.array(obs), None
        if terminated or truncated:
            obs, final = np.array(env.reset()[0]), obs
        ends = bool(terminated), bool(truncated)
        trace.append(_Step(obs, reward, ends, final, dict(info)))
    return trace


def _trace_batch(ref: EnvRef, seeds: list[int]) -> list[list[_Step]]:
    """Record each row of the batched form, started from these seeds."""
    count = len(seeds)
    with closing(ref.make_batch(count)) as batch:
        out = StepArrays.allocate(count, batch.info)
        batch.reset(np.array(seeds, np.uint64), out.obs)
        traces = [[_Step(obs.copy())] for obs in out.obs]
        for action in _actions(batch.info.num_actions):
            batch.step(np.full(count, action, np.int64), out)
            for row, trace in enumerate(traces):
                ends = bool(out.terminated[row]), bool(out.truncated[row])
                final = out.final_obs[row].copy() if any(ends) else None
                info = {key: getattr(out, name)[row] for name, key in INFO_FIELDS.items()}
                trace.append(_Step(out.obs[row].copy(), out.rewards[row], ends, final, info))
    return traces


def _expect_shown(plain: list[_Step], shown: list[_Step], code: OrderCode) -> None:
    """Expect that a trace is the plain one with the code of an order behind each observation."""
    bare, order = [], -1
    for step, seen in enumerate(shown):
        last = seen.obs if seen.final_obs is None else seen.final_obs
        found = int(code.decode(last[-code.size :]))
        expect(not step or found == order, f"step {step}: the order changed within an episode")
        order = int(code.decode(seen.obs[-code.size :]))
        bare.append(_reshaped(seen, lambda obs: obs[: -code.size]))
    _expect_same([_reshaped(one, np.ravel) for one in plain], bare, "without the order")


def _reshaped(step: _Step, change: Callable[[NDArray[Any]], NDArray[Any]]) -> _Step:
    final = None if step.final_obs is None else change(step.final_obs)
    return step._replace(obs=change(step.obs), final_obs=final)


def _expect_same(one: list[_Step], other: list[_Step], where: str, *, infos: bool = True) -> None:
    """Expect two traces to agree bit for bit; rewards as the float32 a rollout holds."""
    for step, (wanted, got) in enumerate(zip(one, other, strict=True)):
        at = f"step {step}, {where}:"
        same = np.array_equal(wanted.obs, got.obs)
        expect(same, f"{at} observation {got.obs} instead of {wanted.obs}")
        rewards = np.float32(wanted.reward), np.float32(got.reward)
        expect(rewards[0] == rewards[1], f"{at} reward {rewards[1]} instead of {rewards[0]}")
        ends = f"(terminated, truncated) {got.ends} instead of {wanted.ends}"
        expect(wanted.ends == got.ends, f"{at} {ends}")
        if wanted.final_obs is not None:
            same = np.array_equal(wanted.final_obs, got.final_obs)
            expect(same, f"{at} another final observation")
        for key in INFO_TYPES:
            if infos or key in wanted.info:
                told = wanted.info.get(key), got.info.get(key)
                expect(told[0] == told[1], f"{at} {key} {told[1]} instead of {told[0]}")
