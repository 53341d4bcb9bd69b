"""What two results differ in: `wfbench compare`, and `wfbench check` of learning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from wfbench.benchmarks.compare.model import Cell, Comparison, Learned
from wfbench.benchmarks.gate.learning_baseline import learning_verdict
from wfbench.benchmarks.statistics.learning import NonInferiority, TimeToThreshold
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.report.document import Check, Dots, Exhibit, Outcome, Section
from wfbench.report.written import many
from wfbench.store.decoding import decode
from wfbench.store.event_log import plain

from .common import facts, made_by, table, worst

_OUTCOMES: Mapping[Verdict, Outcome] = {
    Verdict.REGRESSED: "bad",
    Verdict.NOT_COMPARABLE: "open",
    Verdict.INCONCLUSIVE: "open",
    Verdict.IMPROVED: "good",
    Verdict.WITHIN_NOISE: "good",
    Verdict.NO_CHANGE: "good",
    Verdict.IDENTICAL: "good",
}
"""By verdict, the worst first."""
_INTERVAL = "with a 95 % interval."
_SCALES = {
    "ratio": (
        "By which factor did it change?",
        f"New over old {_INTERVAL} 1 is no change, to the right of it is more.",
    ),
    "difference": ("By how much did it change?", f"New minus old {_INTERVAL} 0 is no change."),
}
_ANSWERS = {
    NonInferiority.NON_INFERIOR: "yes (non-inferior)",
    NonInferiority.INFERIOR: "no (inferior)",
    NonInferiority.UNDECIDED: "undecided",
}


def outcome_of(verdict: Verdict, *, strict: bool = False) -> Outcome:
    """Return whether a verdict is good, bad or undecided; `strict`: inconclusive is bad."""
    if strict and verdict is Verdict.INCONCLUSIVE:
        return "bad"
    return _OUTCOMES[verdict]


def comparison_section(found: Comparison, *, brief: bool = False) -> Section:
    """Return the section of `wfbench compare`; `brief`: effects, verdicts, and the basis."""
    command = f"wfbench compare {','.join(found.old)} {','.join(found.new)}"
    cells = sorted(found.cells, key=lambda cell: list(_OUTCOMES).index(cell.verdict))
    checks = tuple(map(_cell_check, cells))
    exhibits = [_effects([c for c in cells if c.scale == scale], scale) for scale in _SCALES]
    if brief:
        exhibits = [replace(one, reading="") for one in exhibits]
    else:
        exhibits.append(_learned(found.learned))
    return Section(
        title="Comparison",
        kind="comparison",
        headline=Check("result", worst(checks), headline(found)),
        checks=checks,
        facts=facts(
            {"old": ", ".join(found.old), "new": ", ".join(found.new), "basis": found.basis}
        ),
        exhibits=made_by(command, (exhibit for exhibit in exhibits if exhibit.table.rows)),
        notes=tuple(_brief_notes(found) if brief else _notes(found)),
    )


def comparison_data(found: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values, with how often each verdict was given."""
    counts = {str(verdict): found.count(verdict) for verdict in Verdict}
    values: dict[str, Any] = plain(asdict(found))
    return {"headline": headline(found), "verdicts": counts, **values}


def decode_comparison(values: Mapping[str, Any]) -> Comparison:
    """Return the comparison that `comparison_data` wrote."""
    derived = {"schema", "headline", "verdicts"}
    kept = {name: value for name, value in values.items() if name not in derived}
    return decode(Comparison, kept, "comparison")


def headline(found: Comparison) -> str:
    """Return the verdicts in one line, the worst first."""
    counts = [(found.count(verdict), verdict) for verdict in _OUTCOMES]
    return ", ".join(f"{count} {verdict}" for count, verdict in counts if count)


def learning_check_section(baseline: str, found: Comparison, *, strict: bool = False) -> Section:
    """Return the section of `wfbench check` against a baseline of learning."""
    checks = []
    for one in found.learned:
        verdict = learning_verdict(one)
        outcome = outcome_of(verdict, strict=strict)
        checks.append(Check(f"{one.metric}: {one.name}", outcome, str(verdict)))
    compared = comparison_section(found)
    return replace(
        compared,
        title=f"Check against {baseline}",
        kind="check",
        headline=Check("result", worst(checks), _learning_outcome(found)[1]),
        checks=tuple(checks),
        exhibits=compared.exhibits[::-1],
    )


def learning_check_data(baseline: str, found: Comparison, exit_code: int) -> dict[str, Any]:
    """Return a check of learning as JSON values."""
    verdict, headline = _learning_outcome(found)
    return {
        "verdict": verdict,
        "headline": headline,
        "exit_code": exit_code,
        "baseline": baseline,
        "of": "learning",
        "comparison": comparison_data(found),
    }


def _learning_outcome(found: Comparison) -> tuple[str, str]:
    worse, unsure = (
        "; ".join(f"{o.metric} of {o.name}" for o in found.learned if learning_verdict(o) is one)
        for one in (Verdict.REGRESSED, Verdict.INCONCLUSIVE)
    )
    return gate_outcome(worse and f"{worse} learned worse", unsure)


def gate_outcome(worse: str, unsure: str) -> tuple[str, str]:
    """Return the outcome of a check in one word, and in one line of what is worse or not known."""
    if worse:
        return str(Verdict.REGRESSED), f"REGRESSED: {worse}"
    if unsure:
        return str(Verdict.INCONCLUSIVE), f"no regression found; inconclusive: {unsure}"
    return "ok", "no regression"


def _cell_check(cell: Cell) -> Check:
    says = f"{cell.verdict}: {cell.reason}" if cell.reason else str(cell.verdict)
    return Check(f"{cell.name}, {cell.metric}", outcome_of(cell.verdict), says)


def _notes(found: Comparison) -> Iterable[str]:
    yield f"compared: {found.basis}"
    for cell in found.cells:
        if cell.reason and outcome_of(cell.verdict) == "good":
            yield f"{cell.name}, {cell.metric}: {cell.reason}"
    yield from found.notes
    if not all(one.same_machine for one in found.learned):
        yield "seconds to compliance are of different machines and not comparable"
    criteria = found.criteria
    margins = {c.metric: c.margin for c in found.cells if c.margin is not None}
    effects = [f"{margin:.3g} in {metric}" for metric, margin in margins.items()]
    if any(cell.scale == "ratio" for cell in found.cells):
        effects.insert(0, f"{100 * criteria.minimum_effect:.3g} %")
    tested = sum(cell.test is not None for cell in found.cells)
    yield (
        f"a verdict needs p <= {criteria.alpha:g} (permutation test, adjusted for "
        f"{many(tested, 'cell')}) and a difference of at least {', '.join(effects)}"
    )


def _brief_notes(found: Comparison) -> Iterable[str]:
    first, *others = _notes(found)
    yield first
    yield f"{many(len(others), 'further remark')} with --verbose"


def _effects(cells: Sequence[Cell], scale: str) -> Exhibit:
    rows = [
        (
            f"{cell.name}, {cell.metric}",
            cell.effect,
            None if cell.old is None else cell.old.value,
            None if cell.new is None else cell.new.value,
            cell.p,
            f"{cell.samples[0]} / {cell.samples[1]}",
            str(cell.verdict),
        )
        for cell in cells
    ]
    shown = table("what | effect ± | old | new | p | samples | verdict", rows)
    return Exhibit(*_SCALES[scale], shown, picture=Dots("what", "effect", "low", "high"))


def _learned(learned: Sequence[Learned]) -> Exhibit:
    rows = [
        (
            f"{one.metric} of {one.name}",
            *(one.improvement, one.old, one.new, one.margin),
            _ANSWERS[one.non_inferiority],
            *(one.tasks, one.steps),
            *(map(_time, _times(one)) if one.metric == "return" else (None,) * 4),
        )
        for one in learned
    ]
    heads = (
        "what | probability .2 ± | old ± | new ± | margin | not worse | orders | "
        "environment steps | old steps to compliance | new steps to compliance | "
        "old seconds to compliance | new seconds to compliance"
    )
    return Exhibit(
        title="Does it learn as well as before?",
        reading="Probability that a new training beats an old one after equally many environment "
        "steps: one half is no difference. Old and new are interquartile means over orders, with "
        "95 % intervals. Not worse: is new at most the margin worse?",
        table=table(heads, rows),
        picture=Dots("what", "probability", "low", "high"),
    )


def _times(one: Learned) -> tuple[TimeToThreshold, ...]:
    return one.old_steps, one.new_steps, one.old_seconds, one.new_seconds


def _time(found: TimeToThreshold) -> str:
    trainings = found.reached + found.censored
    if found.median is None:
        return f"no median ({found.reached} of {trainings} reached it)"
    low = "?" if found.low is None else f"{found.low:,.4g}"
    high = "unknown" if found.high is None else f"{found.high:,.4g}"
    return (
        f"median {found.median:,.4g} ({low} to {high}; {found.reached} of {trainings} reached it)"
    )
