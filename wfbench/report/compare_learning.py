"""What the seeds of two sides have learned, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from wfbench.bench.comparison import Learned
from wfbench.bench.learning import NonInferiority, TimeToThreshold
from wfbench.bench.statistics import Estimate

_ANSWERS = {
    NonInferiority.NON_INFERIOR: "yes (non-inferior)",
    NonInferiority.INFERIOR: "no (inferior)",
    NonInferiority.UNDECIDED: "undecided",
}


def learned_lines(learned: Learned) -> Iterator[str]:
    """Interquartile means, probability of improvement, non-inferiority; once also the times."""
    over = f" over {learned.tasks} orders" if learned.tasks > 1 else ""
    yield (
        f"{learned.name}, {learned.metric}: interquartile mean{over} {_with(learned.old)} -> "
        f"{_with(learned.new)}; a new training beats an old one with probability "
        f"{_with(learned.improvement)}"
    )
    if learned.margin is not None:
        yield (
            f"{learned.name}, {learned.metric}: is new at most {learned.margin:.3g} worse? "
            f"{_ANSWERS[learned.non_inferiority]}"
        )
    if learned.metric == "return":
        yield (
            f"{learned.name}, steps to compliance: {_time(learned.old_steps)} -> "
            f"{_time(learned.new_steps)}"
        )
        seconds = f"{_time(learned.old_seconds)} -> {_time(learned.new_seconds)}"
        if not learned.same_machine:
            seconds += "; of different machines, not comparable"
        yield f"{learned.name}, seconds to compliance: {seconds}"


def _with(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3g}"
    return f"{estimate.value:.3g} ({estimate.low:.3g} to {estimate.high:.3g})"


def _time(found: TimeToThreshold) -> str:
    trainings = found.reached + found.censored
    if found.median is None:
        return f"no median ({found.reached} of {trainings} reached it)"
    low = "?" if found.low is None else f"{found.low:,.4g}"
    high = "open" if found.high is None else f"{found.high:,.4g}"
    return (
        f"median {found.median:,.4g} ({low} to {high}; {found.reached} of {trainings} reached it)"
    )
