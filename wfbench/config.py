"""The run configuration: every default, in one place, with the documented values.

Whatever a user sets comes from a preset, a TOML file, the environment or flags, and wins in that
order (`wfbench.layers`). Settings with a `role` are handed to the selected plugins of that kind
which declare an option of that name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, get_type_hints

from wfbench.contract import UsageError


def _setting(default: Any, meaning: str, *, key: str = "", role: str = "", kind: str = "") -> Any:
    """A field; `key` is its outside name, `role` who reads it, `kind` what it selects."""
    metadata = {"help": meaning, "key": key, "role": role, "kind": kind}
    return field(default=default, metadata=metadata)


_CHOICES = {"inherit": ("nearest", "previous", "none"), "stop": ("compliant", "budget")}


@dataclass(frozen=True)
class RunConfig:
    """Everything a workflow search is asked to do."""

    env: str = _setting("cage2", "The environment.", kind="env")
    collector: tuple[str, ...] = _setting(("vector",), "How to collect.", kind="collector")
    trainer: tuple[str, ...] = _setting(("ppo",), "How to learn.", kind="trainer")
    searcher: str = _setting("gp-ucb", "How to choose orders.", kind="searcher")
    n_envs: int = _setting(200, "Environments stepped together.")
    workflows: int = _setting(20, "Orders to train.")
    max_episodes: int = _setting(50, "At most so many episodes per env and order.")
    min_episodes: int = _setting(5, "At least so many episodes per env and order.")
    update_every: int = _setting(100, "Steps of every env between updates.")
    threshold: float = _setting(0.95, "Compliance at which an order counts as learned.")
    lambda_: float = _setting(30.0, "Weight of the alignment reward.", key="lambda")
    beta: float = _setting(2.0, "Exploration of the search.", role="searcher")
    gamma: float = _setting(0.99, "Discount per step.", role="trainer")
    epochs: int = _setting(4, "Passes over the data of an update (K).", role="trainer")
    lr: float = _setting(0.002, "Learning rate.", role="trainer")
    clip: float = _setting(0.2, "Clipping range of the policy ratio.", role="trainer")
    red: str = _setting("bline", "The intruder.", role="env")
    definition: str = _setting("effective", "What counts as compliance.")
    no_fix: float = _setting(0.5, "Compliance of an episode without a counted fix.")
    inherit: str = _setting("nearest", "Policy to start from: nearest, previous or none.")
    score: str = _setting("last-episodes:3", "What an order is worth; or evaluate:20.")
    stop: str = _setting("compliant", "When an order is done: compliant, or budget only.")
    patience: int = _setting(0, "Give up after so many episodes without progress; 0: never.")
    total_episodes: int = _setting(0, "At most so many episodes in all; 0: no limit.")
    max_seconds: float = _setting(0.0, "At most so many seconds in all; 0: no limit.")
    device: str = _setting("cpu", "Where the trainer computes.")
    seed: int = _setting(0, "Every random number of the run follows from it.")
    seeds: int = _setting(1, "So many searches, with this seed and those that follow it.")
    executor: str = _setting("local", "Where orders are trained.", kind="executor")
    batch: int = _setting(0, "Orders asked at a time; 0: what keeps the executor busy.")

    def __post_init__(self) -> None:
        for name in ("n_envs", "workflows", "min_episodes", "update_every", "epochs", "seeds"):
            self._require(name, getattr(self, name) >= 1, "be at least 1")
        self._require(
            "max_episodes", self.max_episodes >= self.min_episodes, "not be below min_episodes"
        )
        self._require("threshold", 0 < self.threshold <= 1, "be above 0 and at most 1")
        self._require("lambda_", 0 <= self.lambda_ < math.inf, "be a number from 0 up")
        self._require("beta", 0 <= self.beta < math.inf, "be a number from 0 up")
        self._require("gamma", 0 <= self.gamma <= 1, "be between 0 and 1")
        self._require("lr", 0 < self.lr < math.inf, "be a number above 0")
        self._require("clip", 0 < self.clip < 1, "be between 0 and 1")
        self._require("no_fix", 0 <= self.no_fix <= 1, "be between 0 and 1")
        for name, choices in _CHOICES.items():
            self._require(name, getattr(self, name) in choices, f"be {' or '.join(choices)}")
        for name in ("patience", "total_episodes", "seed", "batch"):
            self._require(name, getattr(self, name) >= 0, "not be negative")
        self._require("max_seconds", 0 <= self.max_seconds < math.inf, "be a number from 0 up")
        self._require("collector", bool(self.collector), "name one")
        self._require("trainer", bool(self.trainer), "name one")

    def _require(self, name: str, holds: bool, what: str) -> None:  # noqa: FBT001 - private
        if not holds:
            raise UsageError(f"{SETTINGS[name].key} is {getattr(self, name)}; it must {what}")


@dataclass(frozen=True)
class Setting:
    """One field of the configuration as the outside sees it."""

    field: str
    key: str
    """Its name in TOML; the flag and the environment variable follow from it."""
    hint: Any
    default: Any
    help: str
    role: str
    kind: str

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"WFBENCH_RUN_{self.key.upper()}"


def _described(declared: Field[Any], hints: Mapping[str, Any]) -> Setting:
    meta = declared.metadata
    return Setting(
        field=declared.name,
        key=meta["key"] or declared.name,
        hint=hints[declared.name],
        default=declared.default,
        help=meta["help"],
        role=meta["role"],
        kind=meta["kind"],
    )


_HINTS = get_type_hints(RunConfig)
SETTINGS: dict[str, Setting] = {f.name: _described(f, _HINTS) for f in fields(RunConfig)}
"""Every setting by its field."""

_DOCUMENTED = {"trainer": ("ppo-parallel",)}
_ONE_ENV = {"n_envs": 1, "collector": ("sequential",), "max_episodes": 10_000, "min_episodes": 1000}
# The documents give the one-env configurations no episode limits, and 50 episodes would end before
# the first update; so they get as many episodes in all as 200 envs have.

PRESETS: dict[str, dict[str, Any]] = {
    "documented-25": {**_DOCUMENTED, "n_envs": 25, "max_episodes": 50, "min_episodes": 10},
    "documented-200": {**_DOCUMENTED, "n_envs": 200, "max_episodes": 50, "min_episodes": 5},
    "original": {**_ONE_ENV, "trainer": ("ppo-original",), "update_every": 20_000, "epochs": 6},
    "sequential": {**_ONE_ENV, "trainer": ("ppo-sequential",), "update_every": 10_000},
    "limited": {**_DOCUMENTED, "n_envs": 50, "max_episodes": 100, "min_episodes": 10},
    "aggressive": {**_DOCUMENTED, "n_envs": 500, "max_episodes": 20, "min_episodes": 3},
    "best": {
        "env": "cage2:actions=reduced,memory=true",
        "trainer": ("ppo:entropy=0.02,lr_end=0.02,minibatches=4",),
        "epochs": 6,
        "searcher": "given:SEUHD",
        "workflows": 1,
        "max_episodes": 800,
        "lambda_": 3.0,
        "stop": "budget",
    },
    "smoke": {"n_envs": 8, "workflows": 2, "max_episodes": 3, "min_episodes": 1},
}
"""The documented configurations, as what they set. Two are ours: `best` trains one order for long,
with memory features and the reduced action set, and a light alignment reward, because a good policy
follows that order almost by itself; `smoke` is far too small to learn anything. An episode has 100
steps."""
