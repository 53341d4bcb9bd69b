"""Claims 1 to 3: shared memory against pipes, one change at a time, under both conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wfbench.contract import (
    CollectCase,
    CollectSample,
    Finding,
    FindingTable,
    Interval,
    Lab,
)

from .conditions import (
    CONDITIONS,
    EPISODE,
    HERE,
    PIPE_TRUE_STATE,
    STEP_SECONDS,
    fewer_envs,
    shm_per_env,
)
from .judging import amount, number, times, typical, under_both

RATES = (180.0, 3052.0)
STEP_MS = (550.0, 33.0)
EPISODE_SECONDS = (111.0, 6.6)
N_ENVS = 200
PAYLOAD, TRANSPORT, POLICY, LAYOUT, ENV = range(1, 6)
"""Places in the sequence. The documented 180/s is place 0, the documented 3,052/s is POLICY."""


@dataclass(frozen=True)
class Decomposition:
    """All changes at one number of environments under one condition, in the same rounds."""

    condition: str
    n_envs: int
    changes: tuple[str, ...]
    samples: tuple[tuple[CollectSample, ...], ...]
    """Of the start and of the case after each change."""

    def rates(self, place: int) -> list[float]:
        """Return transitions per second by round after `place` changes."""
        return [sample.rate for sample in self.samples[place]]

    def gained(self, lab: Lab, figure: str) -> Gained:
        """Return what the documented changes gained in a figure of a sample."""
        before, after = (
            [getattr(sample, figure) for sample in self.samples[place]] for place in (0, POLICY)
        )
        transport = self.factor(lab, PAYLOAD, TRANSPORT)
        return Gained(self.factor(lab, 0, POLICY), transport, before, after)

    def factor(self, lab: Lab, first: int, last: int) -> Interval:
        """Return the speed-up by the changes after place `first` up to place `last`."""
        return lab.ratio(self.rates(last), self.rates(first))


def measure_headline(lab: Lab) -> Finding:
    """Measure claim 1: 180 to 3,052 transitions/s."""
    found = _decompositions(lab)
    here, each = found[-len(CONDITIONS) :]
    parts = [each.factor(lab, place, place + 1) for place in range(ENV)]
    together = [one.factor(lab, 0, POLICY) for one in (here, each)]
    shares = (
        f"{number(parts[0].value)}x by payload, {number(parts[1].value)}x by transport, "
        f"{number(parts[2].value)}x by policy"
    )
    finding = _finding(
        lab,
        here.n_envs,
        RATES[1] / RATES[0],
        {one.condition: one.gained(lab, "rate") for one in (here, each)},
        start=typical(lab, here.rates(0)).value,
        unit="transitions/s",
        why=(
            f"At {here.n_envs} envs the documented changes gain {times(together[1])} where every "
            f"environment has a core ({shares}) and {times(together[0])} on {lab.cores} cores, "
            f"which cannot step environments of 3 ms more than "
            f"{number(lab.cores / STEP_SECONDS)} times a second, whatever moves the data."
        ),
        values={
            "layout_factor": here.factor(lab, POLICY, LAYOUT).value,
            "env_factor": here.factor(lab, LAYOUT, ENV).value,
            "total_factor": here.factor(lab, 0, ENV).value,
            "most_possible_rate": lab.cores / STEP_SECONDS,
        },
    )
    return replace(
        finding,
        tables=decomposition_tables(lab, found),
        headline=(
            f"180 vs 3,052 transitions/s: {number(together[1].value)}x where every environment "
            f"has a core, {number(together[0].value)}x on {lab.cores} cores; of that, {shares} "
            "(a core each)"
        ),
    )


def measure_vector_step(lab: Lab) -> Finding:
    """Measure claim 2: 550 to 33 ms per vector step."""
    here, each = _decompositions(lab)[-len(CONDITIONS) :]
    implied = N_ENVS / STEP_MS[0] * 1e3
    return _finding(
        lab,
        here.n_envs,
        STEP_MS[0] / STEP_MS[1],
        {one.condition: one.gained(lab, "step_ms") for one in (here, each)},
        start=typical(lab, here.rates(0)).value,
        unit="ms",
        why=(
            f"A step of {here.n_envs} envs becomes {times(each.factor(lab, 0, POLICY))} faster "
            f"where every environment has a core, {times(here.factor(lab, 0, POLICY))} on "
            f"{lab.cores} cores; the documented 550 ms at 200 envs would be {number(implied)} "
            "transitions/s, twice the 180 of claim 1."
        ),
        values={"documented_step_implies_rate": implied},
    )


def measure_episode(lab: Lab) -> Finding:
    """Measure claim 3: 111 to 6.6 s for an episode of all environments."""
    n_envs, rounds = (2, 2) if lab.quick else (25, 3)
    cases = [
        case
        for env in CONDITIONS.values()
        for case in (
            CollectCase(collector=PIPE_TRUE_STATE, env=env, n_envs=n_envs, policy="network"),
            CollectCase(collector="pipe", env=env, n_envs=n_envs),
            CollectCase(collector=shm_per_env(n_envs), env=env, n_envs=n_envs),
        )
    ]
    # One collect is one whole episode of every env, reset included.
    samples = lab.collect(cases, rounds=rounds, steps=EPISODE, seconds=0.01)
    seconds = [[EPISODE * one.step_ms / 1e3 for one in of_case] for of_case in samples]
    sides = dict(zip(CONDITIONS, (seconds[:3], seconds[3:]), strict=True))
    # Of the three cases the middle one is where payload and policy have changed.
    gained = {
        name: Gained(lab.ratio(before, after), lab.ratio(same, after), before, after)
        for name, (before, same, after) in sides.items()
    }
    here, each = gained.values()
    return _finding(
        lab,
        n_envs,
        EPISODE_SECONDS[0] / EPISODE_SECONDS[1],
        gained,
        start=n_envs * EPISODE / typical(lab, here.before).value,
        unit="s",
        why=(
            f"A whole episode of {n_envs} envs becomes {times(each.together)} faster where "
            f"every environment has a core, {times(here.together)} on {lab.cores} cores; with "
            f"the same payload and policy on both sides shared memory gains "
            f"{times(each.transport)} and {times(here.transport)}."
        ),
    )


@dataclass(frozen=True)
class Gained:
    """What one condition gained: by all documented changes and by transport alone."""

    together: Interval
    transport: Interval
    before: Sequence[float]
    after: Sequence[float]
    """The documented two sides, by round."""


def documented_changes(n_envs: int, env: str = CONDITIONS[HERE]) -> dict[str, CollectCase]:
    """Return the start and the case after each change, each one thing apart from the last."""
    start = CollectCase(collector=PIPE_TRUE_STATE, env=env, n_envs=n_envs, policy="network")
    payload = replace(start, collector="pipe")
    transport = replace(payload, collector=shm_per_env(n_envs))
    policy = replace(transport, policy="random")
    layout = replace(policy, collector="shm")
    return {
        "documented pipes": start,
        "payload: mask for true state": payload,
        "transport: shared memory for pipes": transport,
        "policy: random actions for a network": policy,
        "layout: a slice per core for a process per env": layout,
        "env cost: cage2 for the simulator's costs": replace(layout, env="cage2"),
    }


def decompose(
    lab: Lab, n_envs: int, *, rounds: int, steps: int, seconds: float
) -> list[Decomposition]:
    """Measure the start and every change under each condition, all in the same rounds."""
    wanted = {name: documented_changes(n_envs, env) for name, env in CONDITIONS.items()}
    # The last case, on cage2, is the same under every condition.
    cases = list(dict.fromkeys(case for of_name in wanted.values() for case in of_name.values()))
    found = lab.collect(cases, rounds=rounds, steps=steps, seconds=seconds)
    samples = {case: tuple(of_case) for case, of_case in zip(cases, found, strict=True)}
    return [
        Decomposition(
            name, n_envs, tuple(changes), tuple(samples[case] for case in changes.values())
        )
        for name, changes in wanted.items()
    ]


def decomposition_tables(lab: Lab, found: list[Decomposition]) -> tuple[FindingTable, ...]:
    """Return the factors at the most envs to draw, and all factors and rates to read."""
    largest = found[-len(CONDITIONS) :]
    names = largest[0].changes
    drawn = [
        (name.partition(":")[0], one.condition, factor.value, factor.low, factor.high)
        for place, name in enumerate(names[1:])
        for one in largest
        for factor in [one.factor(lab, place, place + 1)]
    ]
    columns = tuple(f"{one.n_envs} envs, {one.condition}" for one in found)
    factors = [
        (name, *(times(one.factor(lab, place, place + 1)) for one in found))
        for place, name in enumerate(names[1:])
    ]
    totals = {"documented before to documented after (the first three)": POLICY, "all": ENV}
    for name, place in totals.items():
        factors.append((name, *(times(one.factor(lab, 0, place)) for one in found)))
    rates = [
        (name, *(number(typical(lab, one.rates(place)).value) for one in found))
        for place, name in enumerate(names)
    ]
    return (
        FindingTable(
            f"What each change gains at {largest[0].n_envs} envs",
            ("change", "condition", "factor", "low", "high"),
            tuple(drawn),
            factors=True,
        ),
        FindingTable("Speed-up by each change", ("change", *columns), tuple(factors)),
        FindingTable("Transitions per second after each change", ("after", *columns), tuple(rates)),
    )


def _finding(
    lab: Lab,
    n_envs: int,
    documented: float,
    gained: Mapping[str, Gained],
    *,
    start: float,
    unit: str,
    why: str,
    values: dict[str, float] | None = None,
) -> Finding:
    """Judge the documented changes together under both conditions; show transport alone, too.

    start: transitions per second on this machine before the changes, which limit what can be
    gained there.
    """
    most = lab.cores / STEP_SECONDS / start
    return under_both(
        {name: one.together for name, one in gained.items()},
        documented,
        most=most,
        shown={name: _shown(lab, one, unit) for name, one in gained.items()},
        why=why,
        values={
            "documented_factor": documented,
            "most_possible_factor": most,
            **{
                f"{name}_{kind}": figure
                for name, one in zip(("here", "core_each"), gained.values(), strict=True)
                for kind, figure in (
                    ("before", typical(lab, one.before).value),
                    ("after", typical(lab, one.after).value),
                    ("documented_changes_factor", one.together.value),
                    ("transport_factor", one.transport.value),
                )
            },
            **(values or {}),
        },
        scaled=fewer_envs(n_envs, N_ENVS),
    )


def _shown(lab: Lab, one: Gained, unit: str) -> str:
    before, after = (typical(lab, values) for values in (one.before, one.after))
    return (
        f"{number(before.value)} to {amount(after, unit)}, {times(one.together)}; transport alone "
        f"{times(one.transport)}"
    )


def _decompositions(lab: Lab) -> list[Decomposition]:
    """Measure fewer envs and more, on this machine and with a core each; the most come last."""
    if lab.quick:
        return decompose(lab, 100, rounds=2, steps=1, seconds=0.2)
    return [one for n in (25, N_ENVS) for one in decompose(lab, n, rounds=4, steps=3, seconds=1.0)]
