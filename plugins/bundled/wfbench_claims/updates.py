"""Claims 5, 7, 10 and 13: how much an update learns from, and how well its gradients agree."""

from __future__ import annotations

from statistics import fmean

from wfbench.contract import (
    Finding,
    FindingTable,
    GradientSample,
    Interval,
    Lab,
    TrainSample,
    Verdict,
)

from .conditions import FEW, FULL_BUDGET, MANY, gains, last, training, update_size
from .judging import (
    IN_PART,
    NOT,
    REPRODUCED,
    amount,
    bounds,
    combined,
    judge_difference,
    judge_factor,
    number,
    times,
)

SIZES = {"ppo-original": 20_000, "ppo-episode": 100, "ppo-parallel": 2_500}
BEGUN = training(FEW, 20, **FULL_BUDGET)
"""The training of the policy whose gradients are measured: it has begun to learn."""
STABILITY = 25.0
BATCHES = ((1, 1), (FEW, 1), (MANY, 1))
EQUIVALENT = 100
SIMILAR = (0.67, 1.5)
"""A ratio of variances whose interval lies in this range counts as no difference."""
MARGIN = 10.0
"""Points of return, a tenth of what a policy of this age loses: less counts as no difference."""


def measure_data(lab: Lab) -> Finding:
    """Measure claim 5: 2,500 to 20,000 transitions per update."""
    episodes, rounds = (8, 2) if lab.quick else (50, 5)
    few, many = lab.train(
        [
            training(FEW, MANY // FEW * episodes, **FULL_BUDGET),
            training(MANY, episodes, **FULL_BUDGET),
        ],
        rounds=rounds,
    )
    sizes = [update_size(one) for one in (few, many)]
    noise = _gradient_noise(lab)
    calmer = lab.ratio([s.variance for s in noise[1]], [s.variance for s in noise[2]])
    gained = lab.mean(gains(few, many))
    sooner = lab.mean([_gain_at_equal_time(a, b) for a, b in zip(few, many, strict=True)])
    complied = [[last(sample).compliance for sample in samples] for samples in (few, many)]
    followed = lab.mean([b - a for a, b in zip(*complied, strict=True)])
    per_update = [lab.mean([_update_ms(one) for one in samples]) for samples in (few, many)]
    worse = gained.high is not None and gained.high < 0
    steps = last(many[0]).env_steps
    return Finding(
        measured=f"{number(sizes[0])} to {number(sizes[1])} transitions, "
        f"{number(sizes[1] / sizes[0])}x",
        interval=None,
        verdict=_data_verdict(sizes[1] / sizes[0], worse=worse),
        why=(
            f"An update learns from {number(sizes[1] / sizes[0])}x the data and the variance of "
            f"its gradient falls {times(calmer)}, but there are as many fewer updates: the return "
            f"of 200 envs differs from that of 25 envs by {amount(gained, 'points')} after the "
            f"same {steps:,} steps and by {amount(sooner, 'points')} after the same time."
        ),
        headline=(
            f"2,500 vs 20,000 transitions per update: {number(sizes[1] / sizes[0])}x the data, "
            f"{gained.value:+.0f} points of return at equal steps, "
            f"{sooner.value:+.0f} at equal time"
        ),
        values={
            "few_transitions": sizes[0],
            "many_transitions": sizes[1],
            "few_ms_per_update": per_update[0].value,
            "many_ms_per_update": per_update[1].value,
            "variance_factor": calmer.value,
            "return_difference": gained.value,
            "return_difference_low": gained.low,
            "return_difference_high": gained.high,
            "return_difference_equal_time": sooner.value,
            "return_difference_equal_time_low": sooner.low,
            "return_difference_equal_time_high": sooner.high,
            "compliance_difference": followed.value,
            "env_steps": float(steps),
        },
        scaled=((f"{episodes} episodes per env in place of 50",) if lab.quick else ()),
        tables=(_update_table(lab, few, many, per_update), _noise_table(lab, noise)),
    )


def measure_batch_sizes(lab: Lab) -> Finding:
    """Measure claim 13: 20,000, 100 and 2,500 transitions per update."""
    cases = [
        training(1, 400, trainer="ppo-original", stop="budget", epochs=6),
        training(1, 2, trainer="ppo-episode", stop="budget"),
        training(FEW, 2, stop="budget"),
    ]
    found = dict(zip(SIZES, map(update_size, lab.train(cases, rounds=1)), strict=True))
    hits = [found[name] == size for name, size in SIZES.items()]
    shown = " / ".join(number(size) for size in found.values())
    return Finding(
        measured=f"{shown} transitions",
        interval=None,
        verdict=combined([REPRODUCED if hit else NOT for hit in hits]),
        why=f"The documented trainers learn from {shown} transitions per update, counted.",
        values={f"{name}_transitions": size for name, size in found.items()},
    )


def measure_stability(lab: Lab) -> Finding:
    """Measure claim 7: gradients of 25 episodes are 25 times more stable than of one."""
    one, few, _ = noise = _gradient_noise(lab)
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
        tables=(_noise_table(lab, noise),),
    )


def measure_equivalence(lab: Lab) -> Finding:
    """Measure claim 10: 100 envs x 1 episode are 1 env x 100 episodes."""
    episodes, rounds, count = (4, 3, 8) if lab.quick else (20, 12, 24)
    cases = [
        training(EQUIVALENT, episodes, trainer=trainer, **FULL_BUDGET)
        for trainer in ("ppo-parallel", "ppo-sequential")
    ]
    parallel, sequential = lab.train(cases, rounds=rounds)
    across, along = lab.gradients(
        BEGUN,
        [(EQUIVALENT, 1), (1, EQUIVALENT)],
        count=count,
        rounds=min(rounds, 4),
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
            f"by {amount(gained, 'points')}, where {number(MARGIN)} count as no difference."
        ),
        values={
            "parallel_transitions": sizes[0],
            "sequential_transitions": sizes[1],
            "variance_factor": noise.value,
            "return_difference": gained.value,
        },
    )


def _data_verdict(factor: float, *, worse: bool) -> Verdict:
    if factor != MANY / FEW:
        return NOT
    return IN_PART if worse else REPRODUCED


def _gain_at_equal_time(few: TrainSample, many: TrainSample) -> float:
    """Return by how much the return of many envs is higher when the sooner training ends."""
    ends = [_training_seconds(sample) for sample in (few, many)]
    return _return_at(many, min(ends) / ends[1]) - _return_at(few, min(ends) / ends[0])


def _return_at(sample: TrainSample, share: float) -> float:
    """Return the mean return of the rollouts in the tenth of the training before a share of it.

    Rollouts of one training are of one size and take about the same time.
    """
    found = last(sample).rollouts.env_return
    end = max(1, round(share * len(found)))
    return fmean(found[int(0.9 * end) : end])


def _training_seconds(sample: TrainSample) -> float:
    """Return the seconds without evaluation."""
    return sample.working - sample.seconds["search"]


def _update_ms(sample: TrainSample) -> float:
    """Return the milliseconds of one update with its collecting, without evaluation."""
    return 1e3 * _training_seconds(sample) / max(1, last(sample).updates)


def _update_table(
    lab: Lab, few: list[TrainSample], many: list[TrainSample], per_update: list[Interval]
) -> FindingTable:
    rows = tuple(
        (
            f"{n_envs} envs",
            number(update_size(samples)),
            str(last(samples[0]).updates),
            amount(milliseconds, "ms"),
            amount(lab.mean([last(s).score for s in samples]), "points"),
            amount(lab.mean([last(s).compliance for s in samples])),
        )
        for n_envs, samples, milliseconds in zip((FEW, MANY), (few, many), per_update, strict=True)
    )
    return FindingTable(
        f"After the same {last(many[0]).env_steps:,} environment steps",
        ("", "transitions per update", "updates", "time per update", "return", "compliance"),
        rows,
    )


def _gradient_noise(lab: Lab) -> list[list[GradientSample]]:
    """Measure gradients of batches of 1, 25 and 200 episodes, by round."""
    count, rounds = (12, 3) if lab.quick else (24, 5)
    return lab.gradients(BEGUN, BATCHES, count=count, rounds=rounds, part="actor")


def _noise_table(lab: Lab, noise: list[list[GradientSample]]) -> FindingTable:
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
    similar = REPRODUCED if SIMILAR[0] <= low and high <= SIMILAR[1] else NOT
    return combined([REPRODUCED, similar, judge_difference(gained, MARGIN)])
