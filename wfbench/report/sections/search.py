"""One search: what it found, how it learned, and where the time went."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from wfbench.host.manager import PluginHost
from wfbench.report import document as doc
from wfbench.report.order_summary import by_order
from wfbench.report.written import duration, fixed, short
from wfbench.search.history import RecordedSearch, belief_of
from wfbench.search.job import parse_score
from wfbench.search.landscape.from_runs import command_of
from wfbench.search.landscape.records import Landscape
from wfbench.store.events import (
    ORDER,
    RunWarning,
    UpdateFinished,
    WorkflowFailed,
    WorkflowFinished,
)

from .common import around, how_to_read, machine_facts, made_by, position_heat, table
from .joint import joint_section
from .landscape import regret_exhibit
from .searches import phases_exhibit, standing

_TIMES = 1.96


def search_section(
    search: RecordedSearch,
    host: PluginHost | None,
    landscape: Landscape | None = None,
    *,
    brief: bool = False,
) -> doc.Section:
    """Return the section of a search; beliefs need the searcher's plugin, regret a landscape.

    `brief` leaves out what needs a picture and adds what to do next: the summary of a run.
    """
    findings = search.findings
    command = "" if brief else command_of(search.config)
    if findings is not None:
        return joint_section(search, findings, brief=brief, command=command)
    finished = search.finished()
    exhibits: list[doc.Exhibit] = []
    notes = [how_to_read(search.units), score_note(search), *inheritance_notes([search])]
    notes += [f"Warning: {event.text}" for event in search.events(RunWarning)]
    if finished:
        exhibits.append(_of_scores(search, orders_exhibit(search)))
    # From one score alone a searcher cannot know how far scores lie apart, and from scores of
    # inherited trainings it learns about more than orders.
    if finished and not (brief and (len(finished) < 2 or _inherits(search))):
        belief, why = belief_exhibit(search, host)
        exhibits += [_of_scores(search, belief)] if belief is not None else []
        notes += [why] if why else []
    if finished and not brief:
        exhibits.insert(1, learning_exhibit(search))
        scored = [(result.order, result.score) for result in finished]
        exhibits.append(_of_scores(search, position_heat(scored, search.units)))
        if landscape is not None:
            exhibits.append(regret_exhibit(search, landscape, command))
    if search.work:
        exhibits.append(phases_exhibit([search]))
    afterwards = [f"files are in {search.path}"] if brief else []
    if brief and search.best() is not None:
        policy = shlex.quote(str(search.path / "policy.npz"))
        afterwards.append(f"next: wfbench evaluate {policy}")
    return doc.Section(
        title=f"Search {search.id}",
        kind="search",
        headline=_headline(search, finished),
        checks=tuple(_checks(search, () if brief else finished)),
        figures=tuple(_figures(search, finished)),
        facts=tuple(_facts(search)),
        exhibits=made_by(command, exhibits),
        notes=tuple(notes),
        afterwards=tuple(afterwards),
    )


def score_note(search: RecordedSearch) -> str:
    """Return what the score of a search is the mean of."""
    score = parse_score(str(search.config.settings["score"]))
    if score.evaluates:
        what = f"{score.count} evaluation episodes after each training"
    else:
        what = f"the last {score.count} training episodes of every environment"
    return (
        f"Score: mean return of {what}. It differs from the return on fresh seeds that `wfbench "
        "evaluate` gives for the kept policy."
    )


def inheritance_notes(searches: Sequence[RecordedSearch]) -> list[str]:
    """Return that scores of orders are not comparable, if trainings of one order each inherited."""
    says = (
        "Scores of different orders are not comparable here: trainings started from the policies "
        "of other orders, so a later one may score better only because the chain of policies that "
        "it inherited had been trained longer. To compare orders, train one policy for all of them "
        "(`wfbench run --training joint`), or each from scratch and equally long (`--inherit none "
        "--stop budget`)."
    )
    return [says] if any(_inherits(search) for search in searches) else []


def _inherits(search: RecordedSearch) -> bool:
    """Tell whether a training started from the policy of another order."""
    return any(
        result.stage == ORDER and result.inherited_from is not None for result in search.finished()
    )


def _of_scores(search: RecordedSearch, exhibit: doc.Exhibit) -> doc.Exhibit:
    """Return an exhibit that rests on scores of orders, with what else they depend on."""
    if not _inherits(search):
        return exhibit
    mixed = (
        " Trainings inherited policies, so this mixes orders with how long the chain of inherited "
        "policies had been trained."
    )
    return replace(exhibit, reading=exhibit.reading + mixed)


def _headline(search: RecordedSearch, finished: Sequence[WorkflowFinished]) -> doc.Check:
    threshold = search.config.settings["threshold"]
    compliant = sum(result.compliant for result in finished)
    says = (
        f"{compliant} of {len(finished)} trainings follow their order at least {threshold:.0%} "
        f"of the time ({search.config.definition})"
    )
    best = search.best()
    if best is not None:
        says += f"; best single training: {search.written(best.order)}, score {short(best.score)}"
    return standing(search, "good" if compliant else "open", says)


def _checks(search: RecordedSearch, finished: Sequence[WorkflowFinished]) -> Iterator[doc.Check]:
    if search.end is not None:
        yield doc.Check("complete", "good", f"it ended because of its budget ({search.end.reason})")
    else:
        yield doc.Check("complete", "open", f"resume with: wfbench run --resume {search.path}")
    for result in finished:
        name = f"workflow {result.workflow + 1}: {search.written(result.order)}"
        says = f"compliance {fixed(result.compliance, 3)}, {result.status} ({result.reason})"
        outcome: doc.Outcome = "good" if result.compliant else "open"
        if not result.sound:
            outcome = "bad"
        yield doc.Check(name, outcome, says)
    for event in search.events(WorkflowFailed):
        name = f"workflow {event.workflow + 1}: {search.written(event.order)}"
        yield doc.Check(name, "bad", event.cause, error=True)


def _figures(search: RecordedSearch, finished: Sequence[WorkflowFinished]) -> Iterator[doc.Fact]:
    best = search.best()
    if best is not None:
        yield doc.Fact("best training", search.written(best.order))
        yield doc.Fact("its score", short(best.score))
        tested = math.isfinite(best.compliance)
        yield doc.Fact("its compliance", f"{best.compliance:.1%}" if tested else "untested")
    yield doc.Fact(
        "compliant", f"{sum(result.compliant for result in finished)} of {len(finished)}"
    )
    yield doc.Fact("environment steps", f"{search.env_steps:,}")
    if search.elapsed:
        yield doc.Fact("time", duration(search.elapsed))
        yield doc.Fact("steps per second", f"{search.rate:,.0f}")
        if search.work_seconds > 1.1 * search.elapsed:
            yield doc.Fact("trainings at once", short(search.work_seconds / search.elapsed))


def _facts(search: RecordedSearch) -> Iterator[doc.Fact]:
    config, settings = search.config, search.config.settings
    yield doc.Fact("run", search.id)
    yield doc.Fact("started", config.created)
    for kind in ("env", "collector", "trainer", "searcher"):
        yield doc.Fact(kind, config.label(kind))
    yield doc.Fact(
        "environments", f"{settings['n_envs']}, episodes of {config.episode_steps} steps"
    )
    yield doc.Fact("seed", str(settings["seed"]))
    yield doc.Fact("score", str(settings["score"]))
    yield doc.Fact("compliance", f"{config.definition}; secondary: {config.secondary}")
    yield doc.Fact("units", ", ".join(search.units))
    yield from machine_facts(search.machine)


def orders_exhibit(search: RecordedSearch) -> doc.Exhibit:
    """Return every order that was trained, the best first."""
    rows = []
    for order in by_order(search.finished()):
        shown, several = order.best, len(order.trainings) > 1
        half = order.between if several else order.within
        value = around(order.mean if several else shown.score, half)
        over = "trainings" if several else "episodes"
        judged = (shown.compliance, shown.secondary_compliance, shown.compliant)
        end = shown.status if shown.compliant else f"{shown.status}: {shown.reason}"
        name = search.written(order.order)
        rows.append((name, value, over, *judged, len(order.trainings), end))
    heads = (
        "order | score (points) .1 ± | interval over | compliance .3 | secondary compliance .3 | "
        "compliant | trainings | ended by"
    )
    return doc.Exhibit(
        title="Which orders did best?",
        reading="Score of every order that was trained, compliant orders (filled) first; to the "
        "right is better. The range is a 95 % interval of the mean over the episodes of one "
        "training, or over trainings where an order was trained again. Training again with another "
        "seed moves a score several times as far.",
        table=table(heads, rows),
        picture=doc.Dots("order", "score", "low", "high", strong="compliant"),
    )


def learning_exhibit(search: RecordedSearch) -> doc.Exhibit:
    """Return the return and the compliance of every workflow, one after the other."""
    heads = (
        "workflow | order | reached | steps in all (environment steps) | steps of the workflow | "
        "return (points per episode) .2 | best score (points per episode) .2 | compliance .3 | "
        "best compliance .3"
    )
    threshold = float(search.config.settings["threshold"])
    return doc.Exhibit(
        title="How did each workflow learn?",
        reading="One line per workflow, in the order in which they were trained. All but the first "
        "start from the policy of an earlier one, unless the run forbids it. Compliant is at or "
        "above the dashed level. Best so far counts workflows that had ended.",
        table=table(heads, _learning_rows(search)),
        picture=doc.Timeline(
            x="steps in all",
            series="workflow",
            strong="reached",
            reached="ended compliant",
            missed="did not",
            panels=(
                doc.Panel("return", best="best score"),
                doc.Panel("compliance", best="best compliance", line=threshold, unit_scale=True),
            ),
        ),
    )


def _learning_rows(search: RecordedSearch) -> Iterator[tuple[object, ...]]:
    reached = {result.workflow: result.compliant for result in search.finished()}
    most: float | None = None
    for entry, best in search.best_so_far():
        event = entry.event
        if isinstance(event, UpdateFinished):
            yield (
                *(event.workflow + 1, search.written(event.order)),
                *(reached.get(event.workflow, False), entry.env_steps_spent, event.env_steps),
                *(event.env_return, None if best is None else best.score, event.compliance, most),
            )
        elif isinstance(event, WorkflowFinished) and math.isfinite(event.compliance):
            most = max(event.compliance, -math.inf if most is None else most)


def belief_exhibit(
    search: RecordedSearch, host: PluginHost | None
) -> tuple[doc.Exhibit | None, str]:
    """Return what the searcher believes of all orders, or why that cannot be shown."""
    belief, why = belief_of(search, host)
    if not belief:
        return None, why
    tried: dict[object, list[float]] = {}
    for result in search.finished():
        if math.isfinite(result.score):
            tried.setdefault(result.order, []).append(result.score)
    rows = []
    for order, (mean, sd) in sorted(belief.items(), key=lambda item: -item[1][0]):
        scores = tried.get(order, [])
        measured = fmean(scores) if scores else None
        rows.append((search.written(order), around(mean, _TIMES * sd), measured, len(scores)))
    heads = "order | believed score (points) .1 ± | measured (points) .1 | trainings"
    return doc.Exhibit(
        title=f"What does the searcher believe of all {len(rows)} orders?",
        reading="Believed score of every order, the best on the left, with the range that holds 95 "
        "% of the belief. Diamonds are mean scores of orders that were trained; where the range is "
        "wide, the searcher knows little.",
        table=table(heads, rows),
        picture=doc.Spread("order", "believed score", "low", "high", mark="measured"),
    ), why
