"""The promises of an environment."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env as gymnasium_check

from wfbench.contract import EnvRef, EnvSpec, WorkflowModel
from wfbench.options import resolve_options
from wfbench.seeding import env_seeds

from .checklist import go_through
from .episodes import expect_same, trace_batch, trace_scalar
from .promise import Progress, Promise
from .verdict import DoesNotApply, expect

_SEEDS = env_seeds(11, 4)


def check_env(
    spec: EnvSpec, options: Mapping[str, Any] | None = None, *, progress: Progress | None = None
) -> list[Promise]:
    """Put an environment to every promise; `options` are those it is built with."""
    subject = _Subject(spec, resolve_options(spec, options or {}))
    return go_through(
        [
            ("observations are a Box and actions are Discrete", subject.spaces),
            ("gymnasium's own checker finds nothing wrong", subject.gymnasium_rules),
            ("observations lie in their space and rewards are finite", subject.values),
            ("the same seed and actions give the same episodes", subject.determinism),
            ("no global random state is read or changed", subject.isolation),
            ("a workflow model is complete, and step() reports what it needs", subject.workflow),
            ("true_state() describes the state on request", subject.true_state),
            ("the batched form has the scalar form's episodes, at any position", subject.batched),
            ("close() may be called twice", subject.closing),
        ],
        progress,
    )


@dataclass(frozen=True)
class _Subject:
    spec: EnvSpec
    options: Mapping[str, Any]

    @property
    def ref(self) -> EnvRef:
        return EnvRef(self.spec.name, self.spec.factory, self.spec.batched, dict(self.options))

    @contextmanager
    def env(self) -> Iterator[gymnasium.Env[Any, Any]]:
        env = self.ref.make()
        try:
            yield env
        finally:
            env.close()

    def spaces(self) -> None:
        with self.env() as env:
            box, actions = env.observation_space, env.action_space
            expect(isinstance(box, gymnasium.spaces.Box), f"observation_space is {box}")
            expect(isinstance(actions, gymnasium.spaces.Discrete), f"action_space is {actions}")
            expect(getattr(actions, "start", 0) == 0, "actions do not start at 0")

    def gymnasium_rules(self) -> None:
        with self.env() as env, warnings.catch_warnings():
            # Its warnings are advice, such as to prefer bounded observations.
            warnings.simplefilter("ignore")
            gymnasium_check(env.unwrapped, skip_render_check=True)

    def values(self) -> None:
        with self.env() as env:
            seen = trace_scalar(env, _SEEDS[0])
            pairs = zip(seen.obs[1:], seen.rewards, strict=True)
            for step, (obs, reward) in enumerate(pairs):
                inside = env.observation_space.contains(obs)
                expect(inside, f"step {step}: observation {obs} is outside its space")
                expect(np.ndim(reward) == 0, f"step {step}: reward {reward!r} is not a number")
                expect(np.isfinite(reward), f"step {step}: reward is {reward}")

    def determinism(self) -> None:
        with self.env() as one, self.env() as other:
            for seed, where in ((_SEEDS[0], "a second env"), (_SEEDS[1], "seeded again")):
                expect_same(trace_scalar(one, seed), trace_scalar(other, seed), where)

    def isolation(self) -> None:
        kept = random.getstate(), np.random.get_state()  # noqa: NPY002 - the state that is watched
        try:
            with self.env() as env:
                first = trace_scalar(env, _SEEDS[0])
            random.seed(1)
            np.random.seed(1)  # noqa: NPY002 - as above
            watched = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
            with self.env() as env:
                second = trace_scalar(env, _SEEDS[0])
            now = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
            expect(watched == now, "the global random state was changed")
            expect_same(first, second, "with another global random state")
        finally:
            random.setstate(kept[0])
            np.random.set_state(kept[1])  # noqa: NPY002 - as above

    def workflow(self) -> None:
        declared = "workflow" in self.spec.capabilities
        with self.env() as env:
            model = getattr(env.unwrapped, "workflow", None)
            if not declared:
                expect(
                    model is None, 'the env has a workflow model, but not the capability "workflow"'
                )
                raise DoesNotApply('without the capability "workflow"')
            expect(isinstance(model, WorkflowModel), f"the attribute workflow is {model!r}")
            _check_model(model, int(env.action_space.n))  # type: ignore[attr-defined]
            for step, info in enumerate(trace_scalar(env, _SEEDS[0]).infos):
                for key in ("compromised_hosts", "ended_session"):
                    expect(key in info, f"step {step}: info has no {key!r}")
                mask = int(info["compromised_hosts"])
                hosts = len(model.hosts)  # type: ignore[union-attr]
                expect(0 <= mask < 1 << hosts, f"step {step}: mask {mask:b} has no such hosts")
                ended = info["ended_session"]
                expect(
                    isinstance(ended, (bool, np.bool_)), f"step {step}: ended_session is {ended!r}"
                )

    def true_state(self) -> None:
        if "true-state" not in self.spec.capabilities:
            raise DoesNotApply('without the capability "true-state"')
        with self.env() as env:
            env.reset(seed=_SEEDS[0])
            state = env.unwrapped.true_state()  # type: ignore[attr-defined]
            expect(isinstance(state, Mapping) and state, f"true_state() returned {state!r}")

    def batched(self) -> None:
        if self.spec.batched is None:
            raise DoesNotApply("it has no batched form")
        scalars = []
        for seed in _SEEDS:
            with self.env() as env:
                scalars.append(trace_scalar(env, seed))
        for rows in ((0, 1, 2, 3), (3, 0), (2,)):
            traces = trace_batch(self.ref, [_SEEDS[row] for row in rows])
            for position, row in enumerate(rows):
                where = f"row {position} of {len(rows)}"
                expect_same(scalars[row], traces[position], where, infos=False)

    def closing(self) -> None:
        env = self.ref.make()
        env.reset(seed=1)
        env.close()
        env.close()


def _check_model(model: Any, num_actions: int) -> None:
    units, hosts = len(model.units), len(model.hosts)
    expect(units >= 1 and hosts >= 1, "the workflow model has no units or no hosts")
    expect(hosts <= 32, f"{hosts} hosts do not fit a mask of 32 bits")
    expect(
        len(model.host_unit) == hosts, f"host_unit has {len(model.host_unit)} of {hosts} entries"
    )
    expect(all(0 <= u < units for u in model.host_unit), "host_unit names a unit that is not there")
    fixes = len(model.fix_host)
    expect(fixes == num_actions, f"fix_host has {fixes} entries for {num_actions} actions")
    expect(all(-1 <= h < hosts for h in model.fix_host), "fix_host names a host that is not there")
    expect(all(0 <= h < hosts for h in model.footholds), "footholds names a host that is not there")
