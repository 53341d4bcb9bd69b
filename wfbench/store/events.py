"""Everything that happens in a search, as types; `events.jsonl` holds one event per line.

A line has `event` (the kind), the fields of that kind, `env_steps_spent` (by the whole run until
then) and `time` (everything that depends on the clock). Two runs of one configuration and seed
have equal events apart from `time`. Lines are encoded and decoded here only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from wfbench.contract import Order, Outcome, UsageError
from wfbench.orders import format_order, order_index, parse_order

from .decoding import decode

SCHEMA = "wfbench/events/2"
SCHEMA_1 = "wfbench/events/1"
"""What 0.1.0 wrote: other names, and in its first runs neither batches nor elapsed times."""

COLLECTING = ("env", "transport", "inference", "idle")
"""The phases that a collector reports."""
PHASES = ("start_up", *COLLECTING, "shaping", "update", "search", "store", "observers", "loop")
"""Where the time of a run goes. Every moment of work belongs to one phase."""

JOINT, FREE, SPECIAL, ORDER = "joint", "free", "specialised", "order"
"""What a training is for: all orders at once, no order, one order from the joint policy, or one
order in a search that trains each by itself."""

COMPLIANT, BUDGET, HOPELESS = "compliant", "budget", "hopeless"
NOT_FINITE, COLLAPSED, THRESHOLD = "not-finite", "collapsed", "threshold"

Values = dict[str, Any]
_STORED: dict[str, type[RunEvent]] = {}
"""What a log may hold, by kind."""


@dataclass(frozen=True)
class RunEvent:
    """Base of all events. A number that could not be measured is NaN."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "", *, stored: bool = True) -> None:
        cls.kind = kind
        if kind and stored:
            _STORED[kind] = cls


@dataclass(frozen=True)
class RunStarted(RunEvent, kind="run-started"):
    """A search began."""

    run: str
    seed: int
    env: str
    collector: str
    trainer: str
    searcher: str
    definition: str
    secondary: str
    units: tuple[str, ...]
    workflows: int
    episode_steps: int
    batch: int = 1
    stages: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of a joint run, what each stage consists of: `trainings`, and the environment steps of each
    at most, `steps` to train and `evaluation_steps`. Trainings are numbered stage by stage."""


@dataclass(frozen=True)
class RunResumed(RunStarted, kind="run-resumed", stored=False):
    """A search was resumed. Observers receive it; it is not stored."""

    finished: int = 0


@dataclass(frozen=True)
class WorkflowStarted(RunEvent, kind="workflow-started"):
    """The training of an order, or of all of them, began."""

    workflow: int
    order: Order
    """Empty: every order, drawn anew for each episode."""
    definition: str
    seed: int
    batch_first: int
    """The first workflow of those that were asked for together."""
    batch_size: int
    inherited_from: int | None
    distance: float | None
    """Kendall distance to the order it inherits from."""
    budget_steps: int
    n_envs: int
    steps_per_update: int
    stage: str = ORDER


@dataclass(frozen=True)
class UpdateFinished(RunEvent, kind="update"):
    """One rollout was collected and, unless it was the last, learned from."""

    workflow: int
    update: int
    order: Order
    definition: str
    secondary: str
    policy_version: int
    transitions: int
    env_steps: int
    """Environment steps of this workflow so far."""
    episodes: int
    env_return: float
    """Mean return of the episodes that ended in this rollout; NaN if none did."""
    alignment: float
    compliance: float
    secondary_compliance: float
    fixes: float
    counted: float
    wasted: float
    marks: tuple[str, ...]
    stats: Mapping[str, float] | None
    """The trainer's statistics; None if there was no update."""


@dataclass(frozen=True)
class WorkflowResult(RunEvent):
    """How the training of one order, or of all of them, ended."""

    workflow: int
    order: Order
    seed: int
    inherited_from: int | None
    status: str
    """`compliant`: trained until it followed the order; `budget`: until the budget was spent;
    `hopeless`: given up."""
    reason: str
    """What ended it: `threshold`, `episodes`, `total-episodes`, `wall-time`, or why it was given
    up: `not-finite`, `collapsed`, `no-progress`."""
    score: float
    """Mean return of the episodes that `score_source` names."""
    score_sd: float
    """Standard deviation over those episodes."""
    score_episodes: int
    score_source: str
    compliance: float
    secondary_compliance: float
    fixes: float
    counted: float
    wasted: float
    compliant: bool
    steps_to_compliance: int | None
    """Environment steps after which compliance first reached the threshold."""
    updates: int
    env_steps: int
    evaluation_steps: int
    episodes: int
    stage: str = ORDER

    @property
    def sound(self) -> bool:
        """Tell whether training went through, so that its policy can be used."""
        return self.reason != NOT_FINITE

    @property
    def swept(self) -> bool:
        """Tell whether its policy was evaluated under orders, as in a joint run."""
        return self.stage != ORDER and self.sound

    @property
    def score_error(self) -> float:
        """Return the standard error of the score over the episodes of this one training."""
        if self.score_episodes < 2:
            return math.nan
        return self.score_sd / math.sqrt(self.score_episodes)

    def outcome(self) -> Outcome:
        """Return what the searcher is told."""
        return Outcome(
            score=self.score,
            compliance=self.compliance,
            compliant=self.compliant,
            env_steps=self.env_steps + self.evaluation_steps,
            seed=self.seed,
            values={
                "score_sd": self.score_sd,
                "score_episodes": float(self.score_episodes),
                "secondary_compliance": self.secondary_compliance,
            },
        )

    def values(self) -> Values:
        """Return the result as JSON values, the order as its permutation."""
        found = {one.name: getattr(self, one.name) for one in fields(WorkflowResult)}
        return {"permutation": list(found.pop("order")), **found}


@dataclass(frozen=True)
class WorkflowFinished(WorkflowResult, kind="workflow-finished"):
    """The training of an order ended and was told to the searcher."""

    definition: str = ""
    secondary: str = ""
    best: bool = False
    """Whether the run keeps its policy as the best so far."""
    says: tuple[str, ...] = ()
    """What a joint run has found by then, in sentences."""


@dataclass(frozen=True)
class WorkflowFailed(RunEvent, kind="workflow-failed"):
    """A training broke down, which stops the run."""

    workflow: int
    order: Order
    definition: str
    cause: str


@dataclass(frozen=True)
class WorkerLost(WorkflowFailed, kind="worker-lost", stored=False):
    """A training is repeated because its worker died. Observers receive it; it is not stored."""


@dataclass(frozen=True)
class RunWarning(RunEvent, kind="warning"):
    """Something the user should know."""

    text: str


@dataclass(frozen=True)
class RunFinished(RunEvent, kind="run-finished"):
    """The search spent its budget."""

    reason: str
    workflows: int
    compliant: int
    best: int | None


Result = TypeVar("Result", bound=WorkflowResult)


def better(one: WorkflowResult, other: WorkflowResult | None) -> bool:
    """Tell whether `one` is the better workflow: compliant before not, then by score.

    Of a joint run it is the first joint training: its policy follows every order.
    """
    if not one.sound or math.isnan(one.score):
        return False
    if one.stage != ORDER:
        return one.stage == JOINT and other is None
    return other is None or (one.compliant, one.score) > (other.compliant, other.score)


def best_of(results: Iterable[Result]) -> Result | None:
    """Return the best of these workflows."""
    best: Result | None = None
    for result in results:
        best = result if better(result, best) else best
    return best


@dataclass(frozen=True)
class EventTime:
    """When something happened and how long it took."""

    at: float
    """Seconds since 1970."""
    elapsed: float
    """Wall-clock seconds of the run until then, without those between an end and a resume."""
    work: Mapping[str, float]
    """Seconds of work by phase since the event before."""
    training: float | None = None
    """Wall-clock seconds of the training that ended."""


@dataclass(frozen=True)
class LogEntry:
    """One event of a run, with what had been spent by then."""

    event: RunEvent
    env_steps_spent: int
    time: EventTime


def written_order(order: Order, units: tuple[str, ...]) -> str:
    """Return the order of a training as people write it."""
    return format_order(order, units) if order else ALL_ORDERS


def encode_event(event: RunEvent, units: tuple[str, ...]) -> Values:
    """Return an event as JSON values, with its order as people write it."""
    values: Values = {"event": event.kind}
    if isinstance(event, RunStarted):
        values["schema"] = SCHEMA
    for name in (one.name for one in fields(event)):
        value = getattr(event, name)
        if name == "order":
            index = order_index(value) if value else None
            values |= {"order": written_order(value, units), "order_index": index}
        values[_WRITTEN.get(name, name)] = value
    return values


def encode(entry: LogEntry, units: tuple[str, ...]) -> Values:
    """Return the JSON values of one line of `events.jsonl`."""
    time = entry.time
    own = {} if time.training is None else {"training": time.training}
    work = round(sum(time.work.values()), 7)
    return {
        **encode_event(entry.event, units),
        "env_steps_spent": entry.env_steps_spent,
        "time": {"at": time.at, "elapsed": time.elapsed, **own, "work": work, **time.work},
    }


class EventDecoder:
    """Decodes the lines of one log, those of 0.1.0 too. Needs them one after the other."""

    def __init__(self) -> None:
        self.schema = ""
        self._units: tuple[str, ...] = ()
        self._elapsed = 0.0
        self._worked = 0.0

    def decode(self, values: Any, where: str) -> LogEntry:
        """Return the entry of the next line; raise a usage error that says what is wrong."""
        if not isinstance(values, dict):
            raise UsageError(f"{where}: it is not a JSON object")
        values = dict(values)
        schema = values.pop("schema", None)
        if not self.schema:
            if schema not in {SCHEMA, SCHEMA_1}:
                raise UsageError(f"{where}: its schema is {schema!r}, not {SCHEMA!r}")
            self.schema = schema
        if self.schema == SCHEMA_1:
            values = _renamed(values)
        for name, kind in (("event", str), ("env_steps_spent", int), ("time", dict)):
            if not isinstance(values.get(name), kind):
                raise UsageError(f"{where}: it has no {name}, or not as it should be")
        spent, times = values.pop("env_steps_spent"), values.pop("time")
        event = self._event(values.pop("event"), values, where)
        if isinstance(event, RunStarted):
            self._units = event.units
        return LogEntry(event, spent, self._time(times, event, where))

    def _event(self, name: str, given: Values, where: str) -> RunEvent:
        kind = _STORED.get(name)
        if kind is None:
            raise UsageError(f"{where}: this version does not know event {name!r}")
        if kind is WorkflowStarted:
            given = {"batch_first": given.get("workflow"), "batch_size": 1, **given}
        permutation, _ = given.pop("permutation", None), given.pop("order_index", None)
        if given.get("order") == ALL_ORDERS:
            given["order"] = []
        elif "order" in given:
            given["order"] = list(permutation or parse_order(str(given["order"]), self._units))
        if "return" in given:
            given["env_return"] = given.pop("return")
        return decode(kind, given, where)

    def _time(self, values: Values, event: RunEvent, where: str) -> EventTime:
        values = _renamed(values)
        if not all(isinstance(values.get(name), (int, float)) for name in ("at", "work", *PHASES)):
            raise UsageError(f"{where}: its times are not all numbers")
        work = {name: float(values[name]) for name in PHASES}
        total, found = float(values["work"]), sum(work.values())
        if abs(found - total) > _ROUNDING:
            raise UsageError(f"{where}: its phases sum to {found:.6f} s, not to {total:.6f} s")
        self._worked = total + (0.0 if isinstance(event, WorkflowStarted) else self._worked)
        self._elapsed = values.get("elapsed", self._elapsed + total)
        training = values.get("training")
        if training is None and isinstance(event, WorkflowFinished):
            training = self._worked
        return EventTime(values["at"], self._elapsed, work, training)


ALL_ORDERS = "all"
"""How the order of a joint training is written."""

_WRITTEN = {"env_return": "return", "order": "permutation"}
"""Names of fields in files, where they differ."""
_ROUNDING = 1e-5
"""Seconds by which phases that are rounded one by one may miss their sum."""

_RENAMED = {
    "beside": "secondary",
    "beside_compliance": "secondary_compliance",
    "ledger": "env_steps_spent",
    "wall": "work",
    "open": "start_up",
}
"""Names of 0.1.0."""


def _renamed(values: Values) -> Values:
    return {_RENAMED.get(name, name): value for name, value in values.items()}
