"""The promises of a trainer."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.contract import (
    Acts,
    Arrays,
    Counters,
    EnvInfo,
    Policy,
    Rollout,
    Trainer,
    TrainerSetup,
    TrainerSpec,
    WorkflowModel,
    load_object,
    uniform_draws,
)

from .promise import Progress, PromiseResult, Promises, expect, expect_equal

_STEPS, _ENVS, _FEATURES, _ACTIONS = 16, 6, 7, 5
_ORDER, _OTHER_ORDER = (0, 1, 2), (2, 0, 1)
_MODEL = WorkflowModel(
    units=("a", "b", "c"), hosts=("a0", "b0", "c0"), host_unit=(0, 1, 2), fix_host=(-1, -1, 0, 1, 2)
)
_INFO = EnvInfo((_FEATURES,), "float32", _ACTIONS, _MODEL)
_WORKER = """
import pickle, sys
snapshot, obs, draws = pickle.load(sys.stdin.buffer)
acts = snapshot.policy().act(obs, draws)
loaded = [name for name in ("torch", "tensorflow", "jax") if name in sys.modules]
pickle.dump((acts.actions, loaded), sys.stdout.buffer)
"""
_PATIENCE = 120.0

_PROMISES: Promises[_Subject] = Promises()


def check_trainer(
    spec: TrainerSpec, options: Mapping[str, Any] | None = None, *, progress: Progress | None = None
) -> list[PromiseResult]:
    """Test whether a trainer keeps every promise, built with these options."""
    return _PROMISES.test(_Subject, spec, options, progress)


@dataclass(frozen=True)
class _Subject:
    spec: TrainerSpec
    options: Mapping[str, Any]

    def build(self, updates: int = 0) -> Trainer:
        setup = TrainerSetup(_INFO, seed=5)
        trainer: Trainer = load_object(self.spec.factory)(setup, **self.options)
        trainer.start(_ORDER)
        _learn(trainer, range(updates))
        return trainer

    @_PROMISES.add("the policy answers every row: action, log-probability and value")
    def acting(self) -> None:
        for trainer in (self.build(), self.build(updates=1)):
            acts = _acts(trainer.policy())
            for name, array in acts._asdict().items():
                shape = np.shape(array)
                expect(shape == (_ENVS,), f"{name} has shape {shape} for {_ENVS} rows")
                expect(np.all(np.isfinite(array)), f"{name} is {array}")
            legal = np.all((acts.actions >= 0) & (acts.actions < _ACTIONS))
            expect(legal, f"actions {acts.actions} of {_ACTIONS}")
            expect(np.all(acts.log_probs <= 1e-6), f"log-probabilities {acts.log_probs}")

    @_PROMISES.add("a row's action does not depend on the batch it is in")
    def row_by_row(self) -> None:
        policy = self.build(updates=1).policy()
        obs, draws, whole = _observations(), _draws(), _acts(policy).actions
        rows = [slice(row, row + 1) for row in range(_ENVS)]
        alone = [int(policy.act(obs[row], draws[row]).actions[0]) for row in rows]
        expect(whole.tolist() == alone, f"actions {alone} one by one, {whole} together")

    @_PROMISES.add("the version rises with every update")
    def versions(self) -> None:
        trainer = self.build()
        before = trainer.policy().version
        for number in range(2):
            _learn(trainer, [number])
            after = trainer.policy().version
            expect(after > before, f"the version is {after} after an update, {before} before")
            before = after

    @_PROMISES.add("an update reports its transitions and finite numbers")
    def stats(self) -> None:
        trainer = self.build()
        rollout = _rollout(trainer.policy(), 0)
        stats = trainer.update(rollout, rollout.rewards)
        expect_equal("the number of transitions", stats.transitions, rollout.transitions)
        expect(stats.seconds >= 0, f"{stats.seconds} seconds")
        for name, value in stats.values.items():
            expect(np.isfinite(value), f"{name} is {value}")

    @_PROMISES.add("an update leaves the rollout and the rewards as they were")
    def inputs(self) -> None:
        trainer = self.build()
        rollout = _rollout(trainer.policy(), 0)
        rewards, kept = rollout.rewards.copy(), deepcopy(vars(rollout))
        trainer.update(rollout, rewards)
        for name, value in vars(rollout).items():
            expect(np.array_equal(value, kept[name]), f"rollout.{name} was changed")
        expect(np.array_equal(rewards, rollout.rewards), "the rewards were changed")

    @_PROMISES.add("a snapshot stays what it was and gives the same actions")
    def snapshots(self) -> None:
        trainer = self.build(updates=1)
        snapshot = trainer.policy().snapshot()
        before = _acts(trainer.policy())
        kept = {name: np.array(array) for name, array in snapshot.arrays.items()}
        expect(snapshot.version == trainer.policy().version, "it has another version")
        _learn(trainer, [1])
        for name, array in snapshot.arrays.items():
            expect(np.array_equal(array, kept[name]), f"an update changed {name} of a snapshot")
        _same(before, _acts(snapshot.policy()), "of the snapshot")

    @_PROMISES.add("a worker restores the snapshot without a learning library")
    def in_a_worker(self) -> None:
        policy = self.build(updates=1).policy()
        work = pickle.dumps((policy.snapshot(), _observations(), _draws()))
        path = f"import sys; sys.path[:] = {sys.path!r}\n"
        done = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", path + _WORKER],
            input=work,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        expect(done.returncode == 0, f"a worker could not: {' '.join(last)}")
        actions, loaded = pickle.loads(done.stdout)  # noqa: S301 - written by our own code
        expect(not loaded, f"restoring it imports {', '.join(loaded)}")
        expect(np.array_equal(actions, _acts(policy).actions), "it acts differently there")

    @_PROMISES.add("the same seed and data give the same policy")
    def determinism(self) -> None:
        first, second = (_acts(self.build(updates=2).policy()) for _ in range(2))
        _same(first, second, "of a second trainer")

    @_PROMISES.add("state() is arrays, and load() goes on as if never interrupted")
    def resuming(self) -> None:
        whole, broken = self.build(updates=3), self.build(updates=1)
        resumed = self.build()
        resumed.load(_through_a_file(broken.state()))
        wanted = broken.policy().version
        expect_equal("the version after load()", resumed.policy().version, wanted)
        _learn(resumed, [1, 2])
        _same(_acts(whole.policy()), _acts(resumed.policy()), "after load()")

    @_PROMISES.add("another order can inherit what was learned")
    def inheriting(self) -> None:
        state = _through_a_file(self.build(updates=1).state())
        heir = self.build()
        heir.start(_OTHER_ORDER, inherit=state)
        _learn(heir, [1])
        expect(np.all(np.isfinite(_acts(heir.policy()).values)), "the heir's values are not finite")


def _observations() -> NDArray[np.float32]:
    return np.random.default_rng(7).integers(0, 2, (_ENVS, _FEATURES)).astype(np.float32)


def _draws(step: int = 0) -> NDArray[np.float64]:
    return uniform_draws(np.arange(1, _ENVS + 1, dtype=np.uint64), np.uint64(step))


def _acts(policy: Policy) -> Acts:
    return policy.act(_observations(), _draws())


def _learn(trainer: Trainer, numbers: Any) -> None:
    for number in numbers:
        rollout = _rollout(trainer.policy(), number)
        trainer.update(rollout, rollout.rewards)


def _rollout(policy: Policy, number: int) -> Rollout:
    """Make a rollout of observations and rewards that follow from `number`."""
    rng = np.random.default_rng([8, number])
    buffer = RolloutBuffer(_STEPS, _ENVS, _INFO)
    for name, values in (("obs", 2), ("final_obs", 2), ("compromised", 8), ("ended_session", 2)):
        buffer.arrays[name][...] = rng.integers(0, values, buffer.arrays[name].shape)
    buffer.rewards[...] = rng.normal(size=buffer.rewards.shape)
    buffer.truncated[_STEPS // 2] = True
    for step in range(_STEPS):
        buffer.put_acts(step, slice(None), policy.act(buffer.obs[step], _draws(step)))
    return buffer.rollout(
        first_step=np.full(_ENVS, number * _STEPS),
        policy_version=policy.version,
        counters=Counters(wall=1.0, env=1.0, transport=0.0, inference=0.0, idle=0.0),
    )


def _through_a_file(state: Arrays) -> Arrays:
    """Return the state as it comes back from disk, which keeps only plain arrays."""
    file = io.BytesIO()
    np.savez(file, **{name: np.asarray(array) for name, array in state.items()})  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def _same(one: Acts, other: Acts, where: str) -> None:
    for name, array in one._asdict().items():
        found = getattr(other, name)
        expect(np.array_equal(array, found), f"{name} {where} are {found} instead of {array}")
