"""Claims 1 to 3: shared memory against pipes."""

from __future__ import annotations

from wfbench.contract import CollectCase, Finding, Lab

from .conditions import CYBORG, EPISODE, NO_CONSTRUCTION, PIPE_TRUE_STATE, shm_per_env
from .decomposition import (
    ENV,
    LAYOUT,
    PAYLOAD,
    POLICY,
    TRANSPORT,
    Decomposition,
    decompose,
    decomposition_tables,
)
from .judging import amount, judge_bundle, number, times, typical

RATES = (180.0, 3052.0)
STEP_MS = (550.0, 33.0)
EPISODE_SECONDS = (111.0, 6.6)
N_ENVS = 200


def measure_headline(lab: Lab) -> Finding:
    """Claim 1: 180 to 3,052 transitions/s."""
    found = _decompositions(lab)
    most = found[-1]
    documented = RATES[1] / RATES[0]
    transport = most.factor(lab, PAYLOAD, TRANSPORT)
    together = most.factor(lab, 0, POLICY)
    before, after = (typical(lab, most.rates(place)) for place in (0, POLICY))
    limit = lab.cores / 0.003
    return Finding(
        measured=f"transport alone {times(transport)}; all documented changes {times(together)}",
        interval=transport,
        verdict=judge_bundle(transport, together, documented),
        why=(
            f"At {most.n_envs} envs shared memory alone buys {times(transport)}, with payload and "
            f"policy changed too {number(together.value)}x ({number(before.value)} to "
            f"{number(after.value)} transitions/s); {lab.cores} cores cannot step environments of "
            f"3 ms more than {number(limit)} times a second, whatever moves the data."
        ),
        values={
            "documented_factor": documented,
            "before_rate": before.value,
            "after_rate": after.value,
            "transport_factor": transport.value,
            "documented_changes_factor": together.value,
            "layout_factor": most.factor(lab, POLICY, LAYOUT).value,
            "env_factor": most.factor(lab, LAYOUT, ENV).value,
            "total_factor": most.factor(lab, 0, ENV).value,
            "most_possible_rate": limit,
        },
        scaled=_scaled(most.n_envs),
        tables=decomposition_tables(lab, found),
    )


def measure_vector_step(lab: Lab) -> Finding:
    """Claim 2: 550 to 33 ms per vector step."""
    most = _decompositions(lab)[-1]
    documented = STEP_MS[0] / STEP_MS[1]
    transport = most.factor(lab, PAYLOAD, TRANSPORT)
    together = most.factor(lab, 0, POLICY)
    before, after = (typical(lab, most.step_ms(place)) for place in (0, POLICY))
    implied = N_ENVS / STEP_MS[0] * 1e3
    return Finding(
        measured=f"{amount(before, 'ms')} to {amount(after, 'ms')}; transport alone "
        f"{times(transport)}",
        interval=transport,
        verdict=judge_bundle(transport, together, documented),
        why=(
            f"A step of {most.n_envs} envs takes {number(before.value)} ms with the documented "
            f"pipes and {number(after.value)} ms with shared memory, {number(together.value)}x in "
            f"all and {number(transport.value)}x by transport; the documented 550 ms at 200 envs "
            f"would be {number(implied)} transitions/s, twice the 180 claimed beside it."
        ),
        values={
            "documented_factor": documented,
            "before_ms": before.value,
            "after_ms": after.value,
            "transport_factor": transport.value,
            "documented_changes_factor": together.value,
            "documented_step_implies_rate": implied,
        },
        scaled=_scaled(most.n_envs),
    )


def measure_episode(lab: Lab) -> Finding:
    """Claim 3: 111 to 6.6 s for an episode of all environments."""
    n_envs, rounds = (2, 2) if lab.quick else (25, 3)
    cases = [
        CollectCase(collector=PIPE_TRUE_STATE, env=CYBORG, n_envs=n_envs, policy="network"),
        CollectCase(collector="pipe", env=CYBORG, n_envs=n_envs),
        CollectCase(collector=shm_per_env(n_envs), env=CYBORG, n_envs=n_envs),
    ]
    # One collect is one whole episode of every env, reset included.
    samples = lab.collect(cases, rounds=rounds, steps=EPISODE, seconds=0.01)
    seconds = [[EPISODE * one.step_ms / 1e3 for one in of_case] for of_case in samples]
    documented = EPISODE_SECONDS[0] / EPISODE_SECONDS[1]
    transport = lab.ratio(seconds[1], seconds[2])
    together = lab.ratio(seconds[0], seconds[2])
    before, after = typical(lab, seconds[0]), typical(lab, seconds[2])
    return Finding(
        measured=f"{amount(before, 's')} to {amount(after, 's')}; transport alone "
        f"{times(transport)}",
        interval=transport,
        verdict=judge_bundle(transport, together, documented),
        why=(
            f"A whole episode of {n_envs} envs takes {number(before.value)} s with the documented "
            f"pipes and {number(after.value)} s with shared memory and nothing else to do; with "
            f"the same payload and policy on both sides shared memory is {times(transport)}."
        ),
        values={
            "documented_factor": documented,
            "before_seconds": before.value,
            "after_seconds": after.value,
            "transport_factor": transport.value,
            "documented_changes_factor": together.value,
        },
        scaled=_scaled(n_envs),
    )


def _decompositions(lab: Lab) -> list[Decomposition]:
    if lab.quick:
        return [decompose(lab, 25, rounds=2, steps=2, seconds=0.3)]
    return [decompose(lab, n, rounds=4, steps=3, seconds=1.0) for n in (25, 100, 200)]


def _scaled(n_envs: int) -> tuple[str, ...]:
    fewer = (f"{n_envs} envs in place of {N_ENVS}",) if n_envs != N_ENVS else ()
    return (*fewer, NO_CONSTRUCTION)
