"""Claims 5 and 13: how much an update learns from, and what that is worth."""

from __future__ import annotations

from wfbench.contract import Finding, FindingTable, Interval, Lab, TrainCase, TrainSample, Verdict

from .conditions import DEFAULT_ORDER
from .gradient_noise import gradient_noise, noise_table
from .judging import IN_PART, NOT, REPRODUCED, amount, combined, number, times, verdict_if
from .trainings import FEW, MANY, full_training, last, score, transitions

SIZES = {"ppo-original": 20_000, "ppo-episode": 100, "ppo-parallel": 2_500}


def measure_data(lab: Lab) -> Finding:
    """Claim 5: 2,500 to 20,000 transitions per update."""
    episodes, rounds = (8, 2) if lab.quick else (50, 5)
    few, many = lab.train(
        [full_training(FEW, MANY // FEW * episodes), full_training(MANY, episodes)],
        rounds=rounds,
    )
    sizes = [transitions(one) for one in (few, many)]
    noise = gradient_noise(lab)
    calmer = lab.ratio([s.variance for s in noise[1]], [s.variance for s in noise[2]])
    gained = lab.mean([score(b) - score(a) for a, b in zip(few, many, strict=True)])
    followed = lab.mean([_compliance(b) - _compliance(a) for a, b in zip(few, many, strict=True)])
    per_update = [lab.mean([_per_update(one) for one in samples]) for samples in (few, many)]
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
            "few_ms_per_update": 1e3 * per_update[0].value,
            "many_ms_per_update": 1e3 * per_update[1].value,
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
    """Claim 13: 20,000, 100 and 2,500 transitions per update."""
    cases = [
        _two_updates("ppo-original", 1, 400, epochs=6),
        _two_updates("ppo-episode", 1, 2),
        _two_updates("ppo-parallel", FEW, 2),
    ]
    found = dict(zip(SIZES, map(transitions, lab.train(cases, rounds=1)), strict=True))
    hits = [found[name] == size for name, size in SIZES.items()]
    shown = " / ".join(number(size) for size in found.values())
    return Finding(
        measured=f"{shown} transitions",
        interval=None,
        verdict=combined([verdict_if(holds=hit) for hit in hits]),
        why=f"The documented trainers learn from {shown} transitions per update, counted.",
        values={f"{name}_transitions": size for name, size in found.items()},
    )


def _two_updates(trainer: str, n_envs: int, episodes: int, **settings: int) -> TrainCase:
    chosen = {"n_envs": n_envs, "max_episodes": episodes, "min_episodes": 1, "stop": "budget"}
    return TrainCase(trainer=trainer, orders=(DEFAULT_ORDER,), settings={**chosen, **settings})


def _data_verdict(factor: float, *, worse: bool) -> Verdict:
    if factor != MANY / FEW:
        return NOT
    return IN_PART if worse else REPRODUCED


def _compliance(sample: TrainSample) -> float:
    return last(sample).compliance


def _per_update(sample: TrainSample) -> float:
    """Seconds of one update with the collecting before it; evaluation is not part of it."""
    return (sample.working - sample.seconds["search"]) / max(1, last(sample).updates)


def _update_table(
    lab: Lab, few: list[TrainSample], many: list[TrainSample], per_update: list[Interval]
) -> FindingTable:
    rows = []
    for n_envs, samples, seconds in ((FEW, few, per_update[0]), (MANY, many, per_update[1])):
        rows.append(
            (
                f"{n_envs} envs",
                number(transitions(samples)),
                str(last(samples[0]).updates),
                amount(_as_ms(seconds), "ms"),
                amount(lab.mean([score(s) for s in samples]), "points"),
                amount(lab.mean([_compliance(s) for s in samples])),
            )
        )
    return FindingTable(
        f"After the same {last(many[0]).env_steps:,} environment steps",
        ("", "transitions per update", "updates", "time per update", "return", "compliance"),
        tuple(rows),
    )


def _as_ms(seconds: Interval) -> Interval:
    low, high = seconds.low, seconds.high
    return Interval(
        1e3 * seconds.value,
        None if low is None else 1e3 * low,
        None if high is None else 1e3 * high,
    )
