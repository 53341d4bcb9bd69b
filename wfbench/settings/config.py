"""The run configuration: every setting with its default.

Values come from a preset, a TOML file, the environment and flags; the last one wins
(`wfbench.settings.sources`). A setting with a `role` goes to the selected plugins of that kind that
declare an option of its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from wfbench.contract import UsageError, option
from wfbench.host import values

JOINT, PER_ORDER = "joint", "per-order"
"""Kinds of training: one policy for all orders, or one training per order."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that a search is asked to do."""

    training: str = option(
        "joint", "One policy for all orders (joint), or one training per order (per-order)."
    )
    env: str = option("cage2:memory=true,actions=reduced", "Environment.", kind="env")
    collector: tuple[str, ...] = option(("vector",), "Collector.", kind="collector")
    trainer: tuple[str, ...] = option(("ppo",), "Trainer.", kind="trainer")
    searcher: str = option("gp-ucb", "Searcher, which chooses the orders.", kind="searcher")
    n_envs: int = option(200, "Environments stepped together.")
    joint_episodes: int = option(150, "Joint: episodes per environment of a joint training.")
    specialise: int = option(3, "Joint: orders to specialise.")
    eval_episodes: int = option(200, "Joint: episodes per order to evaluate a policy with.")
    stress: int = option(15, "Joint: steps that blue is held in stress episodes; 0: no stress.")
    free: int = option(1, "Joint: policies to train without an order, to compare with.")
    workflows: int = option(20, "Per order: number of orders to train.")
    max_episodes: int = option(50, "Maximum episodes per environment and order.")
    min_episodes: int = option(5, "Per order: minimum episodes per environment and order.")
    update_every: int = option(100, "Steps per environment between updates.")
    threshold: float = option(
        0.95, "Share of right choices from which an order counts as followed."
    )
    lambda_: float = option(30.0, "Weight of the alignment reward.", key="lambda")
    lambda_end: float = option(1.0, "Joint: share of lambda left when joint training ends.")
    lambda_special: float = option(0.1, "Joint: share of lambda in specialising.")
    beta: float = option(2.0, "Exploration weight of the searcher.", role="searcher")
    gamma: float = option(0.99, "Discount factor per step.", role="trainer")
    epochs: int = option(6, "Passes over the data per update.", role="trainer")
    lr: float = option(0.002, "Learning rate.", role="trainer")
    clip: float = option(0.2, "Clipping range of the policy ratio.", role="trainer")
    red: str = option("bline", "Red agent, the intruder.", role="env")
    definition: str = option("choices", "Definition of compliance.")
    no_fix: float = option(0.5, "Compliance of an episode without a graded choice, 0 to 1.")
    inherit: str = option("nearest", "Per order: policy to start from (nearest, previous or none).")
    score: str = option(
        "last-episodes:3",
        "Per order: score of an order (last-episodes:N of training, or evaluate:N).",
    )
    stop: str = option("compliant", "Per order: when to stop an order (compliant, or budget).")
    patience: int = option(0, "Per order: episodes without progress before giving up; 0: never.")
    total_episodes: int = option(0, "Maximum episodes of the run; 0: no limit.")
    max_seconds: float = option(0.0, "Maximum seconds of the run; 0: no limit.")
    device: str = option("cpu", "Device of the trainer.")
    seed: int = option(0, "Random seed.")
    seeds: int = option(
        0, "Joint policies to train, or searches that train per order; 0: 2 policies, 1 search."
    )
    executor: str = option("local", "Executor, which decides where to train.", kind="executor")
    batch: int = option(0, "Trainings to plan at a time; 0: enough to keep the executor busy.")

    def __post_init__(self) -> None:
        for name, (holds, rule) in _RULES.items():
            if not holds(getattr(self, name)):
                raise UsageError(f"{SETTINGS[name].key} is {getattr(self, name)}; it must {rule}")
        # A joint run has no minimum, so the default one does not limit what it may be given.
        given = not self.joint or self.min_episodes != RunConfig.min_episodes
        if given and self.max_episodes < self.min_episodes:
            rule = "it must not be below min_episodes"
            raise UsageError(f"max_episodes is {self.max_episodes}; {rule}")

    @property
    def joint(self) -> bool:
        """Tell whether one policy is trained for all orders."""
        return self.training == JOINT

    @property
    def training_seeds(self) -> int:
        """Return how many joint trainings or searches there are."""
        return self.seeds or (2 if self.joint else 1)


_Rule = tuple[Callable[[Any], bool], str]


def _one_of(*choices: str) -> _Rule:
    return lambda value: value in choices, f"be {' or '.join(choices)}"


_AT_LEAST_1: _Rule = (lambda value: value >= 1, "be at least 1")
_NOT_NEGATIVE: _Rule = (lambda value: value >= 0, "not be negative")
_FINITE: _Rule = (lambda value: 0 <= value < math.inf, "be a number from 0 up")
_SHARE: _Rule = (lambda value: 0 <= value <= 1, "be between 0 and 1")
_NOT_EMPTY: _Rule = (bool, "name one")
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("n_envs", "workflows", "min_episodes", "update_every"), _AT_LEAST_1),
    **dict.fromkeys(("epochs", "joint_episodes", "max_episodes"), _AT_LEAST_1),
    "eval_episodes": (lambda value: value >= 2, "be at least 2"),
    **dict.fromkeys(("patience", "total_episodes", "seed", "seeds", "batch"), _NOT_NEGATIVE),
    **dict.fromkeys(("specialise", "stress", "free"), _NOT_NEGATIVE),
    **dict.fromkeys(("lambda_", "beta", "max_seconds"), _FINITE),
    **dict.fromkeys(("gamma", "no_fix", "lambda_end", "lambda_special"), _SHARE),
    **dict.fromkeys(("collector", "trainer"), _NOT_EMPTY),
    "threshold": (lambda value: 0 < value <= 1, "be above 0 and at most 1"),
    "lr": (lambda value: 0 < value < math.inf, "be a number above 0"),
    "clip": (lambda value: 0 < value < 1, "be between 0 and 1"),
    "training": _one_of(JOINT, PER_ORDER),
    "inherit": _one_of("nearest", "previous", "none"),
    "stop": _one_of("compliant", "budget"),
}


@dataclass(frozen=True)
class Setting:
    """One field of the configuration as users see it."""

    field: str
    key: str
    """Its name in TOML, from which the flag and the environment variable follow."""
    hint: Any
    default: Any
    help: str
    role: str = ""
    """The kind of plugin that reads it."""
    kind: str = ""
    """The kind of plugin that it selects."""

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return f"WFBENCH_RUN_{self.key.upper()}"

    def typed(self, value: Any, where: str) -> Any:
        """Return a value as it has to be; a usage error about another one starts with `where`."""
        try:
            return values.from_data(self.hint, value)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error


_HINTS = get_type_hints(RunConfig)
SETTINGS: dict[str, Setting] = {
    f.name: Setting(f.name, hint=_HINTS[f.name], default=f.default, **{"key": f.name, **f.metadata})
    for f in fields(RunConfig)
}
"""Every setting by its field."""

JOINT_ONLY = (
    *("joint_episodes", "specialise", "eval_episodes", "stress", "free"),
    *("lambda_end", "lambda_special"),
)
PER_ORDER_ONLY = ("workflows", "min_episodes", "inherit", "score", "stop", "patience")
"""Settings that only one kind of training reads."""

_PER_ORDER = {"training": PER_ORDER, "env": "cage2", "epochs": 4, "definition": "effective@2"}
_DOCUMENTED = {**_PER_ORDER, "trainer": ("ppo-parallel",)}
_ONE_ENV = {"n_envs": 1, "collector": ("sequential",), "max_episodes": 10_000, "min_episodes": 1000}
_ONE_ENV |= _PER_ORDER
# The documents set no episode limits for one env, and 50 episodes would end before the first
# update. So one env gets as many episodes as 200 envs have together.

_SMALL = {"n_envs": 8, "joint_episodes": 3, "specialise": 1, "eval_episodes": 2, "stress": 2}

PRESETS: dict[str, dict[str, Any]] = {
    "documented-25": {**_DOCUMENTED, "n_envs": 25, "max_episodes": 50, "min_episodes": 10},
    "documented-200": {**_DOCUMENTED, "n_envs": 200, "max_episodes": 50, "min_episodes": 5},
    "original": {**_ONE_ENV, "trainer": ("ppo-original",), "update_every": 20_000, "epochs": 6},
    "sequential": {**_ONE_ENV, "trainer": ("ppo-sequential",), "update_every": 10_000},
    "limited": {**_DOCUMENTED, "n_envs": 50, "max_episodes": 100, "min_episodes": 10},
    "aggressive": {**_DOCUMENTED, "n_envs": 500, "max_episodes": 20, "min_episodes": 3},
    "per-order": {
        **_PER_ORDER,
        "trainer": ("ppo:entropy=0.01,lr_end=0.1,minibatches=8,privileged=false",),
    },
    "best": {
        **_PER_ORDER,
        "env": "cage2:memory=true,actions=reduced",
        "trainer": ("ppo:entropy=0.02,lr_end=0.02,minibatches=4,privileged=false",),
        "epochs": 6,
        "searcher": "given:SEUHD",
        "workflows": 1,
        "max_episodes": 800,
        "lambda_": 3.0,
        "stop": "budget",
    },
    "board": {
        **_PER_ORDER,
        "env": "cage2:memory=true,history=true,actions=reduced,red_weights=bline=1;meander=1",
        "red": "mixed",
        "trainer": ("ppo:minibatches=8,entropy=0.01,threads=1",),
        "collector": ("vector:threads=1",),
        "epochs": 6,
        "searcher": "given:SEUHD",
        "workflows": 1,
        "n_envs": 800,
        "max_episodes": 1800,
        "lambda_": 0.0,
        "stop": "budget",
        "seed": 1,
    },
    "smoke": {**_SMALL, "workflows": 2, "max_episodes": 3, "min_episodes": 1},
}
"""The documented configurations and four of ours: `per-order` trains every order by itself, as
release 0.1.0 did by default; `best` trains one order for long with a light alignment reward,
because a good policy follows that order almost by itself; `board` trains one policy for any
intruder, without an order; `smoke` is far too small to learn anything. An episode has 100 steps."""
