"""Claim 10: many environments once, or one environment many times."""

from __future__ import annotations

from wfbench.contract import Finding, Interval, Lab, TrainCase, Verdict

from .conditions import DEFAULT_ORDER
from .gradient_noise import begun_policy
from .judging import IN_PART, NOT, REPRODUCED, amount, number, times
from .trainings import FULL_BUDGET, score, transitions

EQUIVALENT = 100
SIMILAR = (0.67, 1.5)
"""A ratio of variances whose interval lies in here is no difference worth the name."""


def measure_equivalence(lab: Lab) -> Finding:
    """Claim 10: 100 envs x 1 episode are 1 env x 100 episodes."""
    episodes, rounds, count = (4, 3, 8) if lab.quick else (20, 4, 24)
    settings = {"n_envs": EQUIVALENT, "max_episodes": episodes, **FULL_BUDGET}
    parallel, sequential = lab.train(
        [
            TrainCase(trainer=trainer, orders=(DEFAULT_ORDER,), settings=settings)
            for trainer in ("ppo-parallel", "ppo-sequential")
        ],
        rounds=rounds,
    )
    across, along = lab.gradients(
        begun_policy(),
        [(EQUIVALENT, 1), (1, EQUIVALENT)],
        count=count,
        rounds=rounds,
        part="actor",
    )
    sizes = [transitions(one) for one in (parallel, sequential)]
    noise = lab.ratio([s.variance for s in along], [s.variance for s in across])
    gained = lab.mean([score(b) - score(a) for a, b in zip(sequential, parallel, strict=True)])
    return Finding(
        measured=f"{number(sizes[0])} and {number(sizes[1])} transitions; gradient variance "
        f"{times(noise)}; return differs by {amount(gained, 'points')}",
        interval=noise,
        verdict=_equivalence_verdict(sizes, noise, gained),
        why=(
            f"Both give {number(sizes[0])} transitions; at one policy the variance of their "
            f"gradients is {times(noise)} apart, and after {episodes} updates their returns differ "
            f"by {amount(gained, 'points')}."
        ),
        values={
            "parallel_transitions": sizes[0],
            "sequential_transitions": sizes[1],
            "variance_factor": noise.value,
            "return_difference": gained.value,
        },
    )


def _equivalence_verdict(sizes: list[float], noise: Interval, gained: Interval) -> Verdict:
    if sizes[0] != sizes[1]:
        return NOT
    low = noise.value if noise.low is None else noise.low
    high = noise.value if noise.high is None else noise.high
    similar = SIMILAR[0] <= low and high <= SIMILAR[1]
    differs = gained.low is not None and gained.high is not None and gained.low * gained.high > 0
    return REPRODUCED if similar and not differs else IN_PART
