"""From the documented pipes to wfbench's shared memory, one change at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wfbench.contract import CollectCase, CollectSample, FindingTable, Interval, Lab

from .conditions import CYBORG, PIPE_TRUE_STATE, shm_per_env
from .judging import number, times, typical


@dataclass(frozen=True)
class Change:
    """One step of the way: what it changes, and the case that it leads to."""

    name: str
    case: CollectCase


@dataclass(frozen=True)
class Decomposition:
    """The way at one number of environments; all cases were measured in the same rounds."""

    n_envs: int
    changes: tuple[str, ...]
    samples: tuple[tuple[CollectSample, ...], ...]
    """Of the start and of what each change led to."""

    def rates(self, place: int) -> list[float]:
        """Transitions per second by round after so many changes."""
        return [sample.rate for sample in self.samples[place]]

    def factor(self, lab: Lab, first: int, last: int) -> Interval:
        """What the changes after place `first` up to place `last` bought together."""
        return lab.ratio(self.rates(last), self.rates(first))

    def step_ms(self, place: int) -> list[float]:
        """Milliseconds per vector step by round."""
        return [sample.step_ms for sample in self.samples[place]]


PAYLOAD, TRANSPORT, POLICY, LAYOUT, ENV = range(1, 6)
"""Places on the way. The documented 180/s is place 0, the documented 3,052/s is POLICY."""


def way(n_envs: int) -> list[Change]:
    """The start and the changes, each with one thing other than the one before."""
    start = CollectCase(collector=PIPE_TRUE_STATE, env=CYBORG, n_envs=n_envs, policy="network")
    payload = replace(start, collector="pipe")
    transport = replace(payload, collector=shm_per_env(n_envs))
    policy = replace(transport, policy="random")
    layout = replace(policy, collector="shm")
    return [
        Change("documented pipes", start),
        Change("payload: mask for true state", payload),
        Change("transport: shared memory for pipes", transport),
        Change("policy: random actions for a network", policy),
        Change("layout: a slice per core for a process per env", layout),
        Change("env cost: cage2 for the simulator's costs", replace(layout, env="cage2")),
    ]


def decompose(lab: Lab, n_envs: int, *, rounds: int, steps: int, seconds: float) -> Decomposition:
    """Measure the way."""
    changes = way(n_envs)
    samples = lab.collect(
        [change.case for change in changes], rounds=rounds, steps=steps, seconds=seconds
    )
    return Decomposition(
        n_envs, tuple(change.name for change in changes), tuple(tuple(one) for one in samples)
    )


def decomposition_tables(lab: Lab, found: list[Decomposition]) -> tuple[FindingTable, ...]:
    """Factors, whose product is the total, and the rates they are made of."""
    columns = tuple(f"{one.n_envs} envs" for one in found)
    last = len(found[0].changes) - 1
    factors = [
        (name, *(times(one.factor(lab, place, place + 1)) for one in found))
        for place, name in enumerate(found[0].changes[1:])
    ]
    as_documented = ("documented before to documented after (the first three)",)
    factors.append(as_documented + tuple(times(one.factor(lab, 0, POLICY)) for one in found))
    factors.append(("all", *(times(one.factor(lab, 0, last)) for one in found)))
    rates = [
        (name, *(number(typical(lab, one.rates(place)).value) for one in found))
        for place, name in enumerate(found[0].changes)
    ]
    return (
        FindingTable("What each change bought", ("change", *columns), tuple(factors)),
        FindingTable("Transitions per second after each change", ("after", *columns), tuple(rates)),
    )
