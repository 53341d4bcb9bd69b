"""Descriptors: what a plugin's hooks return.

A descriptor is data. Its factory is an import path, so listing plugins imports nothing heavy and
nothing unpicklable ever crosses to a worker. The factory is called with the options as keyword
arguments; a trainer's with a `TrainerSetup` before them, a searcher's with a `SearcherSetup`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .errors import PluginError
from .importing import load_object

API_VERSION = 1
"""The contract this wfbench speaks."""

API_FLOOR = 1
"""The oldest contract this wfbench still serves."""


OWNER_VARIABLE = "WFBENCH_OWNER"
"""Environment variable of a worker process: the pid it works for. `wfbench doctor` ends workers
of a dead owner, and removes its `/dev/shm/wfbench_<pid>_*`."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What every descriptor has."""

    kind: ClassVar[str]

    name: str
    """Lower-case letters, digits and hyphens; what a user types."""
    summary: str
    """One line for tables."""
    api: int = API_VERSION
    """The contract version the plugin was written for."""


def option(default: Any, meaning: str, **metadata: Any) -> Any:
    """Declare a field of an options dataclass; `meaning` is its help.

    With `of=NAME` it belongs to that option, and falls back to its default when that one is
    replaced. `before` is its value in runs that were written before the option existed.
    """
    return field(default=default, metadata={"help": meaning, **metadata})


@dataclass(frozen=True, kw_only=True)
class FactorySpec(Spec):
    """A descriptor of something that is built from options."""

    factory: str
    """Import path `package.module:name`."""
    options: type[Any] | None = None
    """A dataclass of bool, int, float or str fields, each an `option`; None: no options."""
    positional: str | None = None
    """The option that a bare value sets: with "costs", `synthetic:cyborg` means costs=cyborg."""
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Reference:
    """A simple policy for an environment that a learned policy has to beat."""

    name: str
    summary: str
    policy: str
    """Import path of a callable that takes the order and returns the `Policy`."""
    batched: str | None = None
    """Import path of a batched form whose observations show what the policy needs, such as the true
    state; None: it needs only the usual observations."""


@dataclass(frozen=True)
class Published:
    """A result that others published for an environment, to compare ours with."""

    name: str
    """Who, as tables show it."""
    returns: Mapping[tuple[str, int], float]
    """Mean return per episode, by red agent and number of steps."""
    source: str
    """Where it was published."""
    knew_red: bool | None = None
    """Whether it knew which red agent it would face; None: that is not said."""


@dataclass(frozen=True, kw_only=True)
class EnvSpec(FactorySpec):
    """An environment. Capabilities: "workflow" (has a `WorkflowModel`), "true-state"."""

    kind: ClassVar[str] = "env"

    batched: str | None = None
    """Import path of the batched form, called with num_envs and the options."""
    horizon: str | None = None
    """The option for the maximum steps of an episode; None: there is none."""
    references: tuple[Reference, ...] = ()
    """Policies that results are compared with."""
    published: tuple[Published, ...] = ()
    """Published results to compare with, all for the same red agents and numbers of steps."""


_SHAPED_ENV = "wfbench.orders.shaped_envs:ShapedEnv"
_SHAPED_BATCH = "wfbench.orders.shaped_envs:ShapedBatch"


@dataclass(frozen=True)
class EnvRef:
    """An environment by import path and options, so that it can be built in any process."""

    name: str
    factory: str
    batched: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    form: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `wfbench.orders.forms.FormOptions`: orders to draw and show, steps to hold."""

    def make(self, index: int = 0) -> Any:
        """Build one `gymnasium.Env`; an option `env_index`, if declared, is set to `index`."""
        options = dict(self.options)
        if "env_index" in options:
            options["env_index"] = index
        env = load_object(self.factory)(**options)
        return load_object(_SHAPED_ENV)(env, **self.form) if self.form else env

    def make_batch(self, num_envs: int) -> Any:
        """Build the batched form of `num_envs` environments, a `BatchEnv`."""
        if self.batched is None:
            raise PluginError(f"environment {self.name!r} has no batched form")
        batch = load_object(self.batched)(num_envs, **self.options)
        return load_object(_SHAPED_BATCH)(batch, **self.form) if self.form else batch


@dataclass(frozen=True, kw_only=True)
class CollectorSpec(FactorySpec):
    """A collector.

    Capabilities: "deterministic" (the same plan and seed give the same transition hash), "workers"
    (has worker processes; faults in them are reported, never hung on), "restart" (can replace a
    dead worker), "reset" (is a `ResettableCollector`), "batched-only" (needs an env with a batched
    form).
    """

    kind: ClassVar[str] = "collector"

    cannot: Mapping[str, str] = field(default_factory=dict)
    """Promises of the conformance kit that it cannot keep, by slug, and why."""


@dataclass(frozen=True)
class Cadence:
    """How much data a trainer wants per update; None: as the run is configured."""

    n_envs: int | None = None
    steps: int | None = None
    """Steps of every env between updates."""


@dataclass(frozen=True, kw_only=True)
class TrainerSpec(FactorySpec):
    """A trainer."""

    kind: ClassVar[str] = "trainer"

    cadence: Cadence = Cadence()


@dataclass(frozen=True, kw_only=True)
class SearcherSpec(FactorySpec):
    """A searcher. Capabilities: "batches" (has `ask_batch`)."""

    kind: ClassVar[str] = "searcher"


@dataclass(frozen=True, kw_only=True)
class ExecutorSpec(FactorySpec):
    """An executor."""

    kind: ClassVar[str] = "executor"


@dataclass(frozen=True, kw_only=True)
class ReporterSpec(FactorySpec):
    """A report format. `suffix` is its file ending, with the dot."""

    kind: ClassVar[str] = "reporter"

    suffix: str


@dataclass(frozen=True, kw_only=True)
class ClaimSpec(Spec):
    """A documented claim that `wfbench reproduce` tests."""

    kind: ClassVar[str] = "claim"

    documented: str
    """The claim as it is documented, with its figures."""
    conditions: str
    """What it is said to hold for."""
    source: str = ""
    """Where it is documented, and whether it was measured there or projected."""
    number: int = 0
    """Claims are listed by it, then by name."""
    measure: str
    """Import path of a callable that takes a `Lab` and returns a `Finding`."""


@dataclass(frozen=True)
class Health:
    """The answer of a health check."""

    ok: bool
    message: str
    remedy: str = ""
    """What to do about it, if not ok."""


@dataclass(frozen=True, kw_only=True)
class HealthCheckSpec(Spec):
    """A check of `wfbench doctor`."""

    kind: ClassVar[str] = "health-check"

    check: Callable[[], Health]
    fix: Callable[[], str] | None = None
    """Applies a safe remedy and returns what it did; None: there is none."""


@dataclass(frozen=True, kw_only=True)
class CommandSpec(Spec):
    """An extra verb of the command line: `app` is the import path of a Typer app or function."""

    kind: ClassVar[str] = "command"

    app: str


@dataclass(frozen=True)
class Event:
    """What observers get: the run, and named values of what happened."""

    run_id: str
    values: Mapping[str, Any]
    directory: str = ""
    """Where the run keeps its files, and an observer may write its own; empty: nowhere."""
