"""Claims 5 and 13: how much an update learns from, and what that is worth."""

from __future__ import annotations

from wfbench.contract import Finding, FindingTable, Interval, Lab, TrainSample, Verdict

from .conditions import FEW, FULL_BUDGET, MANY, gains, last, training, update_size
from .gradient_noise import gradient_noise, noise_table
from .judging import IN_PART, NOT, REPRODUCED, amount, combined, number, times, verdict_if

SIZES = {"ppo-original": 20_000, "ppo-episode": 100, "ppo-parallel": 2_500}


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
    noise = gradient_noise(lab)
    calmer = lab.ratio([s.variance for s in noise[1]], [s.variance for s in noise[2]])
    gained = lab.mean(gains(few, many))
    followed = lab.mean([_compliance(b) - _compliance(a) for a, b in zip(few, many, strict=True)])
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
            f"its gradient falls {times(calmer)}, but there are as many fewer updates: after the "
            f"same {steps:,} steps the return of 200 envs differs from that of 25 envs by "
            f"{amount(gained, 'points')}."
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
            "compliance_difference": followed.value,
            "env_steps": float(steps),
        },
        scaled=((f"{episodes} episodes per env in place of 50",) if lab.quick else ()),
        tables=(_update_table(lab, few, many, per_update), noise_table(lab, noise)),
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
        verdict=combined([verdict_if(holds=hit) for hit in hits]),
        why=f"The documented trainers learn from {shown} transitions per update, counted.",
        values={f"{name}_transitions": size for name, size in found.items()},
    )


def _data_verdict(factor: float, *, worse: bool) -> Verdict:
    if factor != MANY / FEW:
        return NOT
    return IN_PART if worse else REPRODUCED


def _compliance(sample: TrainSample) -> float:
    return last(sample).compliance


def _update_ms(sample: TrainSample) -> float:
    """Return the milliseconds of one update with its collecting, without evaluation."""
    return 1e3 * (sample.working - sample.seconds["search"]) / max(1, last(sample).updates)


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
            amount(lab.mean([_compliance(s) for s in samples])),
        )
        for n_envs, samples, milliseconds in zip((FEW, MANY), (few, many), per_update, strict=True)
    )
    return FindingTable(
        f"After the same {last(many[0]).env_steps:,} environment steps",
        ("", "transitions per update", "updates", "time per update", "return", "compliance"),
        rows,
    )
