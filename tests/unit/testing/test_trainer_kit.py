"""What the kit for trainers asks of them, and what it says of those that break a promise."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from wfbench.contract import Acts, Order, TrainerSetup, TrainerSpec, UpdateStats
from wfbench.policies import NetworkPolicy
from wfbench.testing import trainer_kit


class Snapshot:
    """A policy in a form that can be sent elsewhere."""

    def __init__(self, arrays: dict[str, Any], version: int) -> None:
        self.arrays, self.version = arrays, version

    def policy(self) -> Policy:
        return Policy(self.arrays["weights"], self.version)


class Policy:
    """Acts by the draws alone; values are its weights."""

    def __init__(self, weights: Any, version: int) -> None:
        self.weights, self.version = weights, version

    def act(self, obs: Any, draws: Any) -> Acts:
        Trainer.log.append(f"act on {obs.shape} {obs.sum():g}, draws {np.sum(draws):.6f}")
        values = np.full(len(obs), self.weights.sum(), np.float32)
        return Acts((draws * 5).astype(np.int64), np.zeros(len(obs), np.float32), values)

    def snapshot(self) -> Any:
        return Snapshot({"weights": self.weights.copy()}, self.version)


class Trainer:
    """A trainer that keeps every promise."""

    log: ClassVar[list[str]] = []

    def __init__(self, setup: TrainerSetup) -> None:
        self.log.append(f"build {setup.env} {setup.seed}")
        self.weights, self.updates = np.ones(3), 0

    def start(self, order: Order, inherit: Any = None) -> None:
        self.log.append(f"start {order} {sorted(inherit or ())}")
        if inherit is not None:
            self.load(inherit)

    def policy(self) -> Any:
        return Policy(self.weights, self.updates)

    def update(self, rollout: Any, rewards: Any) -> UpdateStats:
        arrays = {name: value for name, value in vars(rollout).items() if hasattr(value, "shape")}
        told = [f"{name} {a.shape} {np.sum(a):.3f}" for name, a in arrays.items()]
        where = np.flatnonzero(rollout.truncated.any(axis=1)).tolist()
        self.log.append(f"update {', '.join(told)}, ends {where}, {asdict(rollout.counters)}")
        self.log.append(f"  rewards {np.abs(rewards).sum():.3f}")
        self.updates += 1
        self.weights = self.weights + float(rewards.mean())
        return UpdateStats(0.0, rollout.transitions, {"mean": float(rewards.mean())})

    def state(self) -> Mapping[str, Any]:
        return {"weights": self.weights.copy(), "updates": np.array(self.updates)}

    def load(self, state: Any) -> None:
        self.weights, self.updates = np.array(state["weights"]), int(state["updates"])


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, str]]:
    """Put a trainer to one promise."""

    def put(slug: str, trainer: type = Trainer) -> tuple[Any, str]:
        monkeypatch.setattr(trainer_kit, "load_object", lambda _: trainer)
        spec = TrainerSpec(name="x", summary="x", factory="a:b")
        subject = trainer_kit._Subject(spec, {})
        found = trainer_kit._PROMISES.by_slug[slug].test(subject, frozenset())
        return found.kept, found.detail

    return put


def test_what_each_promise_asks_of_a_trainer(ask: Any, golden: Callable[[str, str], None]) -> None:
    lines = []
    for slug, promise in trainer_kit._PROMISES.by_slug.items():
        if slug != "in-a-worker":
            Trainer.log.clear()
            kept, detail = ask(slug)
            lines += [f"{slug}: {promise.name}", *(f"  {line}" for line in Trainer.log)]
            lines += [f"  -> {kept} {detail}"]
    golden("trainer-kit.txt", "\n".join(lines))


def acting(first: int = 0, **changed: Any) -> type[Trainer]:
    """Return a trainer whose policy answers otherwise after so many updates."""

    class Acting(Policy):
        def act(self, obs: Any, draws: Any) -> Acts:
            acts = super().act(obs, draws)
            return acts._replace(**changed) if self.version >= first else acts

    class Odd(Trainer):
        def policy(self) -> Any:
            return Acting(self.weights, self.updates)

    return Odd


NOTHING = np.zeros(6, np.float32)


def one(place: int, value: float, kind: str = "f4") -> Any:
    array = np.zeros(6, kind)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"values": NOTHING[:5]}, "values has shape (5,) for 6 rows"),
        ({"values": one(5, np.nan)}, "values is ["),
        ({"log_probs": one(5, -np.inf)}, "log_probs is ["),
        ({"log_probs": one(5, 0.5)}, "log-probabilities ["),
        ({"log_probs": one(5, -0.5)}, ""),
        ({"log_probs": one(5, 1e-6)}, ""),
        ({"actions": one(5, 5, "i8")}, "actions [0 0 0 0 0 5] of 5"),
        ({"actions": one(0, -1, "i8")}, "actions [-1  0  0  0  0  0] of 5"),
        ({"actions": one(0, 4, "i8")}, ""),
    ],
)
def test_what_a_policy_answers_after_an_update(changed: Any, detail: str, ask: Any) -> None:
    kept, found = ask("acting", acting(1, **changed))
    assert (kept, found[: len(detail)]) == (not detail, detail)


def test_a_policy_must_answer_before_the_first_update(ask: Any) -> None:
    def policy(self: Trainer) -> Any:
        version = self.updates
        weights = self.weights if version else self.weights * np.nan
        return Policy(weights, version)

    odd = type("Odd", (Trainer,), {"policy": policy})
    assert ask("acting", odd) == (False, "values is [nan nan nan nan nan nan]")


def test_rows_are_asked_one_by_one(ask: Any) -> None:
    class Places(Policy):
        def act(self, obs: Any, draws: Any) -> Acts:
            acts = super().act(obs, draws)
            return acts._replace(actions=np.arange(len(obs)))

    odd = type("Odd", (Trainer,), {"policy": lambda self: Places(self.weights, self.updates)})
    said = "actions [0, 0, 0, 0, 0, 0] one by one, [0 1 2 3 4 5] together"
    assert ask("row-by-row", odd) == (False, said)


@pytest.mark.parametrize(
    ("versions", "detail"),
    [
        ((0, 1, 2), ""),
        ((5, 7, 8), ""),
        ((0, 0, 1), "the version is 0 after an update, 0 before"),
        ((0, 1, 1), "the version is 1 after an update, 1 before"),
        ((3, 2, 4), "the version is 2 after an update, 3 before"),
    ],
)
def test_versions(versions: tuple[int, ...], detail: str, ask: Any) -> None:
    class Versions(Trainer):
        def policy(self) -> Any:
            return Policy(self.weights, versions[self.updates])

    assert ask("versions", Versions) == (not detail, detail)


def stating(stats: UpdateStats) -> type[Trainer]:
    def update(self: Trainer, rollout: Any, rewards: Any) -> UpdateStats:
        Trainer.update(self, rollout, rewards)
        return stats

    return type("Stating", (Trainer,), {"update": update})


@pytest.mark.parametrize(
    ("stats", "detail"),
    [
        (UpdateStats(0.0, 96, {}), ""),
        (UpdateStats(0.5, 96, {"loss": 1.0}), ""),
        (UpdateStats(-0.5, 96, {}), "-0.5 seconds"),
        (UpdateStats(0.0, 95, {}), "the number of transitions is 95, not 96"),
        (UpdateStats(0.0, 96, {"loss": np.inf}), "loss is inf"),
    ],
)
def test_stats(stats: UpdateStats, detail: str, ask: Any) -> None:
    assert ask("stats", stating(stats)) == (not detail, detail)


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("obs", "rollout.obs was changed"),
        ("compromised", "rollout.compromised was changed"),
        ("given", "the rewards were changed"),
    ],
)
def test_inputs_are_left_alone(name: str, detail: str, ask: Any) -> None:
    class Writes(Trainer):
        def update(self, rollout: Any, rewards: Any) -> UpdateStats:
            stats = super().update(rollout, rewards)
            array = rewards if name == "given" else getattr(rollout, name)
            array.flags.writeable = True
            array[0, 0] += 1
            return stats

    assert ask("inputs", Writes) == (False, detail)


def test_a_snapshot_is_compared_with_what_it_was(ask: Any) -> None:
    class OtherVersion(Policy):
        def snapshot(self) -> Any:
            return Snapshot({"weights": self.weights.copy()}, self.version + 1)

    class Other(Policy):
        def snapshot(self) -> Any:
            return Snapshot({"weights": self.weights + 1}, self.version)

    class Shared(Policy):
        def snapshot(self) -> Any:
            return Snapshot({"weights": self.weights}, self.version)

    class InPlace(Trainer):
        def update(self, rollout: Any, rewards: Any) -> UpdateStats:
            weights = self.weights
            stats = super().update(rollout, rewards)
            weights[:] = self.weights
            self.weights = weights
            return stats

    def having(policy: type, base: type = Trainer) -> type:
        return type("Odd", (base,), {"policy": lambda self: policy(self.weights, self.updates)})

    assert ask("snapshots", having(OtherVersion)) == (False, "it has another version")
    kept, detail = ask("snapshots", having(Other))
    assert (kept, detail[:28]) == (False, "values of the snapshot are [")
    changed = "an update changed weights of a snapshot"
    assert ask("snapshots", having(Shared, InPlace)) == (False, changed)


def test_the_same_trainer_again_and_after_a_pause(ask: Any) -> None:
    count = iter(range(100))

    class Drifts(Trainer):
        def __init__(self, setup: TrainerSetup) -> None:
            super().__init__(setup)
            self.weights = self.weights + next(count)

    class Forgets(Trainer):
        def load(self, state: Any) -> None:
            self.updates = int(state["updates"])

    class Resets(Trainer):
        def load(self, state: Any) -> None:
            self.weights = np.array(state["weights"])

    assert ask("determinism", Drifts)[1].startswith("values of a second trainer are [")
    assert ask("resuming", Forgets)[1].startswith("values after load() are [")
    assert ask("resuming", Resets)[1] == "the version after load() is 0, not 1"

    class Broken(Trainer):
        def load(self, state: Any) -> None:
            super().load(state)
            self.weights = self.weights * np.nan

    assert ask("inheriting", Broken)[1] == "the heir's values are not finite"

    class Objects(Trainer):
        def state(self) -> Mapping[str, Any]:
            return {**super().state(), "extra": np.array([object()])}

    assert ask("resuming", Objects)[0] is False
    assert "allow_pickle=False" in ask("resuming", Objects)[1]


class Learned(Trainer):
    """Has a policy that another process can restore."""

    def policy(self) -> Any:
        return NetworkPolicy.initial(7, 5, 3, hidden=())


ACTIONS = [1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize(
    ("code", "loaded", "other", "detail"),
    [
        (0, [], 0, ""),
        (1, [], 0, "a worker could not:  last words"),
        (0, ["torch", "jax"], 0, "restoring it imports torch, jax"),
        (0, [], 1, "it acts differently there"),
    ],
)
def test_a_worker_is_asked_for_the_actions(
    code: int,
    loaded: list[str],
    other: int,
    detail: str,
    ask: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(command: list[str], **given: Any) -> Any:
        snapshot, obs, draws = trainer_kit.pickle.loads(given["input"])
        assert (given["capture_output"], given["check"]) == (True, False)
        assert "sys.path[:] = " in command[2]
        actions = snapshot.policy().act(obs, draws).actions + other
        answer = trainer_kit.pickle.dumps((actions, loaded))
        return SimpleNamespace(returncode=code, stdout=answer, stderr=b"first\n last words\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert ask("in-a-worker", Learned) == (not detail, detail)
