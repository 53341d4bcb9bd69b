"""Claims 1 to 3: shared memory against pipes, one change at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wfbench.contract import CollectCase, CollectSample, Finding, FindingTable, Interval, Lab

from .conditions import CYBORG, EPISODE, NO_CONSTRUCTION, PIPE_TRUE_STATE, fewer_envs, shm_per_env
from .judging import amount, judge_bundle, number, times, typical

RATES = (180.0, 3052.0)
STEP_MS = (550.0, 33.0)
EPISODE_SECONDS = (111.0, 6.6)
N_ENVS = 200
PAYLOAD, TRANSPORT, POLICY, LAYOUT, ENV = range(1, 6)
"""Places in the sequence. The documented 180/s is place 0, the documented 3,052/s is POLICY."""


@dataclass(frozen=True)
class Decomposition:
    """All changes at one number of environments, measured in the same rounds."""

    n_envs: int
    changes: tuple[str, ...]
    samples: tuple[tuple[CollectSample, ...], ...]
    """Of the start and of the case after each change."""

    def rates(self, place: int) -> list[float]:
        """Return transitions per second by round after `place` changes."""
        return [sample.rate for sample in self.samples[place]]

    def factor(self, lab: Lab, first: int, last: int) -> Interval:
        """Return the speed-up by the changes after place `first` up to place `last`."""
        return lab.ratio(self.rates(last), self.rates(first))


def measure_headline(lab: Lab) -> Finding:
    """Measure claim 1: 180 to 3,052 transitions/s."""
    found = _decompositions(lab)
    most = found[-1]
    transport, together = most.factor(lab, PAYLOAD, TRANSPORT), most.factor(lab, 0, POLICY)
    before, after = (typical(lab, most.rates(place)) for place in (0, POLICY))
    limit = lab.cores / 0.003
    return _finding(
        most.n_envs,
        RATES[1] / RATES[0],
        (transport, together),
        {"before_rate": before, "after_rate": after},
        measured=f"transport alone {times(transport)}; all documented changes {times(together)}",
        why=(
            f"At {most.n_envs} envs shared memory alone gains {times(transport)}, with payload and "
            f"policy changed too {number(together.value)}x ({number(before.value)} to "
            f"{number(after.value)} transitions/s); {lab.cores} cores cannot step environments of "
            f"3 ms more than {number(limit)} times a second, whatever moves the data."
        ),
        tables=decomposition_tables(lab, found),
        layout_factor=most.factor(lab, POLICY, LAYOUT).value,
        env_factor=most.factor(lab, LAYOUT, ENV).value,
        total_factor=most.factor(lab, 0, ENV).value,
        most_possible_rate=limit,
    )


def measure_vector_step(lab: Lab) -> Finding:
    """Measure claim 2: 550 to 33 ms per vector step."""
    most = _decompositions(lab)[-1]
    transport, together = most.factor(lab, PAYLOAD, TRANSPORT), most.factor(lab, 0, POLICY)
    before, after = (
        typical(lab, [sample.step_ms for sample in most.samples[place]]) for place in (0, POLICY)
    )
    implied = N_ENVS / STEP_MS[0] * 1e3
    return _finding(
        most.n_envs,
        STEP_MS[0] / STEP_MS[1],
        (transport, together),
        {"before_ms": before, "after_ms": after},
        measured=f"{amount(before, 'ms')} to {amount(after, 'ms')}; transport alone "
        f"{times(transport)}",
        why=(
            f"A step of {most.n_envs} envs takes {number(before.value)} ms with the documented "
            f"pipes and {number(after.value)} ms with shared memory, {number(together.value)}x in "
            f"all and {number(transport.value)}x by transport; the documented 550 ms at 200 envs "
            f"would be {number(implied)} transitions/s, twice the 180 of claim 1."
        ),
        documented_step_implies_rate=implied,
    )


def measure_episode(lab: Lab) -> Finding:
    """Measure claim 3: 111 to 6.6 s for an episode of all environments."""
    n_envs, rounds = (2, 2) if lab.quick else (25, 3)
    cases = [
        CollectCase(collector=PIPE_TRUE_STATE, env=CYBORG, n_envs=n_envs, policy="network"),
        CollectCase(collector="pipe", env=CYBORG, n_envs=n_envs),
        CollectCase(collector=shm_per_env(n_envs), env=CYBORG, n_envs=n_envs),
    ]
    # One collect is one whole episode of every env, reset included.
    samples = lab.collect(cases, rounds=rounds, steps=EPISODE, seconds=0.01)
    seconds = [[EPISODE * one.step_ms / 1e3 for one in of_case] for of_case in samples]
    transport, together = (lab.ratio(seconds[place], seconds[2]) for place in (1, 0))
    before, after = typical(lab, seconds[0]), typical(lab, seconds[2])
    return _finding(
        n_envs,
        EPISODE_SECONDS[0] / EPISODE_SECONDS[1],
        (transport, together),
        {"before_seconds": before, "after_seconds": after},
        measured=f"{amount(before, 's')} to {amount(after, 's')}; transport alone "
        f"{times(transport)}",
        why=(
            f"A whole episode of {n_envs} envs takes {number(before.value)} s with the documented "
            f"pipes and {number(after.value)} s with shared memory and nothing else to do; with "
            f"the same payload and policy on both sides shared memory is {times(transport)}."
        ),
    )


def documented_changes(n_envs: int) -> dict[str, CollectCase]:
    """Return the start and the case after each change, each one thing apart from the last."""
    start = CollectCase(collector=PIPE_TRUE_STATE, env=CYBORG, n_envs=n_envs, policy="network")
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


def decompose(lab: Lab, n_envs: int, *, rounds: int, steps: int, seconds: float) -> Decomposition:
    """Measure the start and every change."""
    changes = documented_changes(n_envs)
    found = lab.collect(list(changes.values()), rounds=rounds, steps=steps, seconds=seconds)
    return Decomposition(n_envs, tuple(changes), tuple(map(tuple, found)))


def decomposition_tables(lab: Lab, found: list[Decomposition]) -> tuple[FindingTable, ...]:
    """Return a table of the factors, whose product is the total, and one of the rates."""
    columns = tuple(f"{one.n_envs} envs" for one in found)
    last = len(found[0].changes) - 1
    factors = [
        (name, *(times(one.factor(lab, place, place + 1)) for one in found))
        for place, name in enumerate(found[0].changes[1:])
    ]
    totals = {"documented before to documented after (the first three)": POLICY, "all": last}
    for name, place in totals.items():
        factors.append((name, *(times(one.factor(lab, 0, place)) for one in found)))
    rates = [
        (name, *(number(typical(lab, one.rates(place)).value) for one in found))
        for place, name in enumerate(found[0].changes)
    ]
    return (
        FindingTable("Speed-up by each change", ("change", *columns), tuple(factors)),
        FindingTable("Transitions per second after each change", ("after", *columns), tuple(rates)),
    )


def _finding(
    n_envs: int,
    documented: float,
    gained: tuple[Interval, Interval],
    figures: dict[str, Interval],
    *,
    measured: str,
    why: str,
    tables: tuple[FindingTable, ...] = (),
    **more: float,
) -> Finding:
    """Return what shared memory gained, alone and with everything else that was changed."""
    alone, together = gained
    return Finding(
        measured=measured,
        interval=alone,
        verdict=judge_bundle(alone, together, documented),
        why=why,
        values={
            "documented_factor": documented,
            **{name: figure.value for name, figure in figures.items()},
            "transport_factor": alone.value,
            "documented_changes_factor": together.value,
            **more,
        },
        scaled=(*fewer_envs(n_envs, N_ENVS), NO_CONSTRUCTION),
        tables=tables,
    )


def _decompositions(lab: Lab) -> list[Decomposition]:
    if lab.quick:
        return [decompose(lab, 25, rounds=2, steps=2, seconds=0.3)]
    return [decompose(lab, n, rounds=4, steps=3, seconds=1.0) for n in (25, 100, 200)]
