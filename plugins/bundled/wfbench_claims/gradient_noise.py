"""Claims 7 and 10, and the gradients of claim 5: how well batches of different shape agree."""

from __future__ import annotations

from wfbench.contract import (
    Finding,
    FindingTable,
    GradientSample,
    Interval,
    Lab,
    TrainCase,
    Verdict,
)

from .conditions import FEW, FULL_BUDGET, MANY, gains, training, update_size
from .judging import IN_PART, NOT, REPRODUCED, amount, bounds, judge_factor, number, times

STABILITY = 25.0
BATCHES = ((1, 1), (FEW, 1), (MANY, 1))
EQUIVALENT = 100
SIMILAR = (0.67, 1.5)
"""A ratio of variances whose interval lies in this range counts as no difference."""


def measure_stability(lab: Lab) -> Finding:
    """Measure claim 7: gradients of 25 episodes are 25 times more stable than of one."""
    one, few, _ = noise = gradient_noise(lab)
    variance = lab.ratio([s.variance for s in one], [s.variance for s in few])
    cosines = [lab.mean([s.cosine for s in samples]).value for samples in (one, few)]
    return Finding(
        measured=f"variance {times(variance)} smaller; cosine {cosines[0]:.2f} to {cosines[1]:.2f}",
        interval=variance,
        verdict=judge_factor(variance, STABILITY),
        why=(
            f"The variance of the policy's gradient falls {times(variance)} from 1 to 25 episodes "
            f"per update, its spread therefore {number(variance.value**0.5)}x, and two batches "
            f"agree with a cosine of {cosines[1]:.2f} in place of {cosines[0]:.2f}."
        ),
        values={
            "documented_factor": STABILITY,
            "variance_factor": variance.value,
            "spread_factor": variance.value**0.5,
            "cosine_1": cosines[0],
            "cosine_25": cosines[1],
        },
        tables=(noise_table(lab, noise),),
    )


def measure_equivalence(lab: Lab) -> Finding:
    """Measure claim 10: 100 envs x 1 episode are 1 env x 100 episodes."""
    episodes, rounds, count = (4, 3, 8) if lab.quick else (20, 4, 24)
    cases = [
        training(EQUIVALENT, episodes, trainer=trainer, **FULL_BUDGET)
        for trainer in ("ppo-parallel", "ppo-sequential")
    ]
    parallel, sequential = lab.train(cases, rounds=rounds)
    across, along = lab.gradients(
        _begun_policy(),
        [(EQUIVALENT, 1), (1, EQUIVALENT)],
        count=count,
        rounds=rounds,
        part="actor",
    )
    sizes = [update_size(one) for one in (parallel, sequential)]
    noise = lab.ratio([s.variance for s in along], [s.variance for s in across])
    gained = lab.mean(gains(sequential, parallel))
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


def _begun_policy() -> TrainCase:
    """Return the training of the policy whose gradients are measured: it has begun to learn."""
    return training(FEW, 20, **FULL_BUDGET)


def gradient_noise(lab: Lab) -> list[list[GradientSample]]:
    """Measure gradients of batches of 1, 25 and 200 episodes, by round."""
    count, rounds = (12, 3) if lab.quick else (24, 5)
    return lab.gradients(_begun_policy(), BATCHES, count=count, rounds=rounds, part="actor")


def noise_table(lab: Lab, noise: list[list[GradientSample]]) -> FindingTable:
    """Return a table of cosine and variance by size of the batch."""
    signal = lab.mean([s.signal for s in noise[-1]]).value
    rows = []
    for samples in noise:
        first, variance = samples[0], lab.mean([s.variance for s in samples])
        rows.append(
            (
                str(first.n_envs * first.episodes),
                number(first.transitions),
                amount(lab.mean([s.cosine for s in samples])),
                amount(variance),
                number(variance.value / signal) if signal > 0 else "signal lost in noise",
            )
        )
    return FindingTable(
        "The policy's gradient across independent batches",
        ("episodes", "transitions", "cosine", "variance", "variance / squared gradient"),
        tuple(rows),
    )


def _equivalence_verdict(sizes: list[float], noise: Interval, gained: Interval) -> Verdict:
    if sizes[0] != sizes[1]:
        return NOT
    low, high = bounds(noise)
    similar = SIMILAR[0] <= low and high <= SIMILAR[1]
    differs = gained.low is not None and gained.high is not None and gained.low * gained.high > 0
    return REPRODUCED if similar and not differs else IN_PART
