"""Claims 5, 7, 10 and 13: how much an update learns from, and what that is worth."""

from __future__ import annotations

from wfbench.contract import (
    Finding,
    FindingTable,
    GradientSample,
    Interval,
    Lab,
    TrainCase,
    TrainSample,
    Verdict,
    WorkflowSample,
)

from .conditions import DEFAULT_ORDER
from .judging import (
    IN_PART,
    NOT,
    REPRODUCED,
    amount,
    combined,
    judge_factor,
    number,
    times,
    verdict_if,
)

FEW, MANY = 25, 200
STABILITY = 25.0
EQUIVALENT = 100
SIMILAR = (0.67, 1.5)
"""A ratio of variances whose interval lies in here is no difference worth the name."""
BATCHES = ((1, 1), (FEW, 1), (MANY, 1))
SIZES = {"ppo-original": 20_000, "ppo-episode": 100, "ppo-parallel": 2_500}


def measure_data(lab: Lab) -> Finding:
    """Claim 5: 2,500 to 20,000 transitions per update."""
    episodes, rounds = (15, 3) if lab.quick else (50, 5)
    few, many = lab.train(
        [_at_equal_steps(FEW, MANY // FEW * episodes), _at_equal_steps(MANY, episodes)],
        rounds=rounds,
    )
    sizes = [_transitions(one) for one in (few, many)]
    noise = _noise(lab)
    calmer = lab.ratio([s.variance for s in noise[1]], [s.variance for s in noise[2]])
    gained = lab.mean([_score(b) - _score(a) for a, b in zip(few, many, strict=True)])
    followed = lab.mean([_compliance(b) - _compliance(a) for a, b in zip(few, many, strict=True)])
    per_update = [lab.mean([_per_update(one) for one in samples]) for samples in (few, many)]
    worse = gained.high is not None and gained.high < 0
    steps = _last(many[0]).env_steps
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
        tables=(_update_table(lab, few, many, per_update), _noise_table(lab, noise)),
    )


def measure_stability(lab: Lab) -> Finding:
    """Claim 7: gradients of 25 episodes are 25 times more stable than of one."""
    one, few, _ = noise = _noise(lab)
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
    """Claim 10: 100 envs x 1 episode are 1 env x 100 episodes."""
    episodes, rounds, count = (6, 2, 8) if lab.quick else (30, 5, 24)
    settings = {"n_envs": EQUIVALENT, "max_episodes": episodes, **_FULL_BUDGET}
    parallel, sequential = lab.train(
        [
            TrainCase(trainer=trainer, orders=(DEFAULT_ORDER,), settings=settings)
            for trainer in ("ppo-parallel", "ppo-sequential")
        ],
        rounds=rounds,
    )
    across, along = lab.gradients(
        _policy(),
        [(EQUIVALENT, 1), (1, EQUIVALENT)],
        count=count,
        rounds=rounds,
        part="actor",
    )
    sizes = [_transitions(one) for one in (parallel, sequential)]
    noise = lab.ratio([s.variance for s in along], [s.variance for s in across])
    gained = lab.mean([_score(b) - _score(a) for a, b in zip(sequential, parallel, strict=True)])
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


def measure_batch_sizes(lab: Lab) -> Finding:
    """Claim 13: 20,000, 100 and 2,500 transitions per update."""
    cases = [
        _two_updates("ppo-original", 1, 400, epochs=6),
        _two_updates("ppo-episode", 1, 2),
        _two_updates("ppo-parallel", FEW, 2),
    ]
    found = dict(zip(SIZES, map(_transitions, lab.train(cases, rounds=1)), strict=True))
    hits = [found[name] == size for name, size in SIZES.items()]
    shown = " / ".join(number(size) for size in found.values())
    return Finding(
        measured=f"{shown} transitions",
        interval=None,
        verdict=combined([verdict_if(holds=hit) for hit in hits]),
        why=f"The documented trainers learn from {shown} transitions per update, counted.",
        values={f"{name}_transitions": size for name, size in found.items()},
    )


_FULL_BUDGET = {"stop": "budget", "min_episodes": 1, "score": "evaluate:200"}


def _at_equal_steps(n_envs: int, episodes: int) -> TrainCase:
    return TrainCase(
        trainer="ppo-parallel",
        orders=(DEFAULT_ORDER,),
        settings={"n_envs": n_envs, "max_episodes": episodes, **_FULL_BUDGET},
    )


def _policy() -> TrainCase:
    """What the gradients are of: a policy that has begun to learn."""
    return _at_equal_steps(FEW, 20)


def _two_updates(trainer: str, n_envs: int, episodes: int, **settings: int) -> TrainCase:
    chosen = {"n_envs": n_envs, "max_episodes": episodes, "min_episodes": 1, "stop": "budget"}
    return TrainCase(trainer=trainer, orders=(DEFAULT_ORDER,), settings={**chosen, **settings})


def _noise(lab: Lab) -> list[list[GradientSample]]:
    count, rounds = (12, 3) if lab.quick else (24, 5)
    return lab.gradients(_policy(), BATCHES, count=count, rounds=rounds, part="actor")


def _data_verdict(factor: float, *, worse: bool) -> Verdict:
    if factor != MANY / FEW:
        return NOT
    return IN_PART if worse else REPRODUCED


def _equivalence_verdict(sizes: list[float], noise: Interval, gained: Interval) -> Verdict:
    if sizes[0] != sizes[1]:
        return NOT
    low = noise.value if noise.low is None else noise.low
    high = noise.value if noise.high is None else noise.high
    similar = SIMILAR[0] <= low and high <= SIMILAR[1]
    differs = gained.low is not None and gained.high is not None and gained.low * gained.high > 0
    return REPRODUCED if similar and not differs else IN_PART


def _transitions(samples: list[TrainSample]) -> float:
    """What one update learned from; the same in every round, or it is no number to give."""
    sizes = {_last(sample).rollouts.transitions[0] for sample in samples}
    if len(sizes) != 1:
        raise ValueError(f"updates of one case had {sorted(sizes)} transitions")
    return float(sizes.pop())


def _last(sample: TrainSample) -> WorkflowSample:
    return sample.workflows[-1]


def _score(sample: TrainSample) -> float:
    return _last(sample).score


def _compliance(sample: TrainSample) -> float:
    return _last(sample).compliance


def _per_update(sample: TrainSample) -> float:
    """Seconds of one update with the collecting before it; evaluation is not part of it."""
    return (sample.working - sample.seconds["search"]) / max(1, _last(sample).updates)


def _update_table(
    lab: Lab, few: list[TrainSample], many: list[TrainSample], per_update: list[Interval]
) -> FindingTable:
    rows = []
    for n_envs, samples, seconds in ((FEW, few, per_update[0]), (MANY, many, per_update[1])):
        rows.append(
            (
                f"{n_envs} envs",
                number(_transitions(samples)),
                str(_last(samples[0]).updates),
                amount(_as_ms(seconds), "ms"),
                amount(lab.mean([_score(s) for s in samples]), "points"),
                amount(lab.mean([_compliance(s) for s in samples])),
            )
        )
    return FindingTable(
        f"After the same {_last(many[0]).env_steps:,} environment steps",
        ("", "transitions per update", "updates", "time per update", "return", "compliance"),
        tuple(rows),
    )


def _noise_table(lab: Lab, noise: list[list[GradientSample]]) -> FindingTable:
    signal = lab.mean([s.signal for s in noise[-1]]).value
    rows = []
    for samples in noise:
        first, variance = samples[0], lab.mean([s.variance for s in samples])
        rows.append(
            (
                f"{first.n_envs * first.episodes} episodes",
                number(first.transitions),
                amount(lab.mean([s.cosine for s in samples])),
                amount(variance),
                number(variance.value / signal) if signal > 0 else "signal lost in noise",
            )
        )
    return FindingTable(
        "The policy's gradient across independent batches",
        ("batch", "transitions", "cosine", "variance", "variance / squared gradient"),
        tuple(rows),
    )


def _as_ms(seconds: Interval) -> Interval:
    low, high = seconds.low, seconds.high
    return Interval(
        1e3 * seconds.value,
        None if low is None else 1e3 * low,
        None if high is None else 1e3 * high,
    )
