"""The parts a plugin can supply, as protocols."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .env import EnvInfo
from .plan import Plan
from .policy import Policy
from .rollout import Rollout

Order = tuple[int, ...]
"""A repair-priority order: a permutation of unit indices, most urgent first."""

Arrays = Mapping[str, NDArray[Any]]
"""State as named plain arrays: it can be written to disk and read back without running code."""


class Collector(Protocol):
    """Gathers transitions.

    `open`, any number of `collect`, `close`; also a context manager that closes. Every wait has a
    deadline (`plan.deadlines`). After a `CollectError` the collector can only be closed. A second
    `open` without a `close` is an error; `close` may be called in any state and twice.
    """

    def open(self, plan: Plan) -> EnvInfo:
        """Build and reset every environment."""

    def collect(self, policy: Policy, steps: int) -> Rollout:
        """Collect `steps` more steps of every environment."""

    def close(self) -> None:
        """Release everything: processes, descriptors, shared memory."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class PreparedCollector(Collector, Protocol):
    """A collector that can begin to start while its caller has other things to do."""

    def prepared(self, plan: Plan) -> AbstractContextManager[None]:
        """Start what takes long, such as processes, without waiting for it.

        The first collector with the same options that is opened inside with a plan like this one
        takes it over. What nobody took over ends with the block.
        """


class ResettableCollector(Collector, Protocol):
    """A collector that can go on with another plan, and declares the capability "reset"."""

    def reset(self, plan: Plan) -> EnvInfo:
        """Deliver from now on what one that was freshly opened with `plan` would deliver.

        It must be open and must not have failed. New seeds cost next to nothing. Any other plan is
        served, too, if need be by closing and opening. One that fails has released everything.
        """


@dataclass(frozen=True)
class TrainerSetup:
    """What a trainer needs to know before it can build its networks."""

    env: EnvInfo
    seed: int
    device: str = "cpu"
    expected_updates: int | None = None
    """How many updates the budget of one order allows, for schedules."""


@dataclass(frozen=True)
class UpdateStats:
    """One update: how long it took and named numbers (losses, KL, gradient norm)."""

    seconds: float
    transitions: int
    values: Mapping[str, float] = field(default_factory=dict)


class Trainer(Protocol):
    """Learns a policy that is conditioned on an order."""

    def start(self, order: Order, inherit: Arrays | None = None) -> None:
        """Begin a workflow: condition on `order`; start from an earlier `state()` if given."""

    def policy(self) -> Policy:
        """Return the current policy; its version rises with every update."""

    def update(self, rollout: Rollout, rewards: NDArray[np.float32]) -> UpdateStats:
        """Learn from a rollout with these shaped rewards, [T, N]."""

    def state(self) -> Arrays:
        """Return everything needed to resume exactly."""

    def load(self, state: Arrays) -> None:
        """Resume from a `state()`."""


@dataclass(frozen=True)
class SearcherSetup:
    """What a searcher needs to know before it chooses an order."""

    num_units: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """How the training of one order ended."""

    score: float
    """Environment reward only; NaN if training failed."""
    compliance: float
    compliant: bool
    env_steps: int
    seed: int = 0
    values: Mapping[str, float] = field(default_factory=dict)


class Searcher(Protocol):
    """Decides which order to try next.

    One that declares the capability "batches" also has `ask_batch(n)`: the next orders to train at
    the same time, at least one and at most `n`. Afterwards `tell` is called for all of them, in
    that order; if the budget ends before, only for the first ones. `ask_batch(1)` equals `[ask()]`.
    One that has `prior(scores)` is given, before the first `ask` of a process, what each order is
    expected to score: the mean return of the joint policies under it.
    """

    def ask(self) -> Order:
        """Return the next order to train."""

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Take in how an order did; failures are data too."""

    def state(self) -> Mapping[str, Any]:
        """Return everything needed to resume, as JSON values."""

    def load(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state()`."""


class Reporter(Protocol):
    """Turns a report into one file format."""

    def render(self, report: Mapping[str, Any]) -> str:
        """Return the report as text of this format."""
