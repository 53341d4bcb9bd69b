"""Claim 7, and the gradients of claim 5: how far batches of different size agree."""

from __future__ import annotations

from wfbench.contract import Finding, FindingTable, GradientSample, Lab, TrainCase

from .judging import amount, judge_factor, number, times
from .trainings import FEW, MANY, full_training

STABILITY = 25.0
BATCHES = ((1, 1), (FEW, 1), (MANY, 1))


def measure_stability(lab: Lab) -> Finding:
    """Claim 7: gradients of 25 episodes are 25 times more stable than of one."""
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


def begun_policy() -> TrainCase:
    """What the gradients are of: a policy that has begun to learn."""
    return full_training(FEW, 20)


def gradient_noise(lab: Lab) -> list[list[GradientSample]]:
    """Gradients of batches of 1, 25 and 200 episodes, by round."""
    count, rounds = (12, 3) if lab.quick else (24, 5)
    return lab.gradients(begun_policy(), BATCHES, count=count, rounds=rounds, part="actor")


def noise_table(lab: Lab, noise: list[list[GradientSample]]) -> FindingTable:
    """Cosine and variance by size of the batch."""
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
