"""One policy for all orders: what a joint run found, and how a joint policy does by order."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wfbench.orders import format_order, short_names
from wfbench.report import document as doc
from wfbench.report.written import duration, many
from wfbench.search.answer import Answer, find_answer, share_interval
from wfbench.search.conclusion import Findings, half_over_seeds
from wfbench.search.history import RecordedSearch
from wfbench.store.events import RunWarning
from wfbench.store.run import special_path
from wfbench.store.sweeps import NORMAL, STRESS, Sweep, right_by

from .common import around, how_to_read, machine_facts, made_by, table
from .searches import phases_exhibit, standing

_CROSSED = 12
"""Orders that the matrix of code against judge shows; more could not be read."""


def joint_section(
    search: RecordedSearch, findings: Findings, *, brief: bool, command: str = ""
) -> doc.Section:
    """Return the section of a joint run; `brief` leaves out what needs a picture."""
    answer, units = findings.answer, search.units
    exhibits: list[doc.Exhibit] = []
    if answer is not None:
        exhibits += _answer_exhibits(answer, units, brief=brief)
        if not brief:
            sweep = findings.sweeps("joint")[0]
            names = [format_order(order, units) for order in sweep.orders]
            exhibits += _crossed(names, names, right_by(sweep, sweep.orders).tolist())
            exhibits.append(_variance(answer))
    exhibits += _trainings(search, findings)
    if search.work and not brief:
        exhibits.append(phases_exhibit([search]))
    notes = [how_to_read(units)]
    notes += [f"Warning: {event.text}" for event in search.events(RunWarning)]
    return doc.Section(
        title=f"Search {search.id}",
        kind="search",
        headline=_headline(search, findings, brief=brief),
        facts=tuple(_facts(search, findings)),
        exhibits=made_by(command, exhibits),
        notes=tuple(notes),
        conclusion=findings.sentences(),
        afterwards=tuple(_next(search, findings)) if brief else (),
    )


def _headline(search: RecordedSearch, findings: Findings, *, brief: bool) -> doc.Check:
    """Return the first sentence of the conclusion; `brief`, which ends with it: what was done."""
    sentences = findings.sentences()
    says = sentences[0] if sentences else "no joint training has ended yet"
    if brief and sentences:
        done = many(len(findings.trainings), "training")
        says = f"{done}, {search.env_steps:,} environment steps in {duration(search.elapsed)}"
    return standing(search, "good" if sentences else "open", says)


def _facts(search: RecordedSearch, findings: Findings) -> Iterator[doc.Fact]:
    config = search.config
    for kind in ("env", "collector", "trainer", "searcher"):
        yield doc.Fact(kind, config.label(kind))
    yield doc.Fact("joint trainings", str(len(findings.sweeps("joint"))))
    yield doc.Fact("compliance", config.definition)
    yield doc.Fact("time", duration(search.elapsed))
    yield doc.Fact("environment steps", f"{search.env_steps:,} ({search.rate:,.0f} per second)")
    yield doc.Fact("seed", str(config.settings["seed"]))
    yield from machine_facts(search.machine)


def _next(search: RecordedSearch, findings: Findings) -> Iterator[str]:
    run = shlex.quote(str(search.path))
    yield f"files are in {search.path}"
    if not search.complete:
        yield f"next: wfbench run --resume {run}"
    elif findings.specialised:
        order = search.written(findings.specialised[0][0].order)
        policy = special_path(search.path, order)
        yield f"any order: wfbench evaluate {run} --order {order.replace('>', '')}"
        yield f"next: wfbench evaluate {shlex.quote(str(policy))}"
    elif findings.answer is not None:
        order = format_order(findings.answer.best_order, search.units).replace(">", "")
        yield f"next: wfbench evaluate {run} --order {order}"


def _answer_exhibits(
    answer: Answer, units: tuple[str, ...], *, brief: bool
) -> Iterator[doc.Exhibit]:
    ranked = sorted(answer.orders, key=lambda one: -one.estimate)
    rows = [
        (
            *(format_order(one.order, units), around(one.estimate, one.half), one.may_be_best),
            *(one.choices_per_episode, one.share_right, one.status),
        )
        for one in (ranked[:5] if brief else ranked)
    ]
    heads = "order | return (points) .2 ± | may be best | choices (per episode) .2 | right .3"
    about = "comparing orders, whatever the training" if answer.about == "orders" else "this policy"
    yield doc.Exhibit(
        title="Which orders are best?",
        reading=f"Mean return of {answer.trainings} joint "
        f"{'policy' if answer.trainings == 1 else 'policies'} under every order on common seeds; "
        f"the interval is for {about}. Filled: cannot be told from the best. Right is the share "
        "of choices that follow the order.",
        table=table(f"{heads} | followed", rows),
        picture=doc.Dots("order", "return", "low", "high", strong="may be best"),
    )
    letters = short_names(units)
    effects = [
        (
            f"{letters[one.first]} before {letters[one.second]}",
            around(one.effect, one.half or 0.0),
            one.significant,
        )
        for one in answer.effects
        if one.effect is not None
    ]
    if effects and not brief:
        yield doc.Exhibit(
            title="Which precedence matters?",
            reading="Points gained by repairing the first unit type before the second, everything "
            f"else equal, with intervals that hold together at {answer.level:.0%}. Filled: differs "
            "from 0.",
            table=table("pair | effect (points) .2 ± | matters", effects),
            picture=doc.Dots("pair", "effect", "low", "high", strong="matters"),
        )


def _crossed(
    given: Sequence[str], judges: Sequence[str], shares: Sequence[Sequence[float | None]]
) -> Iterator[doc.Exhibit]:
    """Yield the matrix of the order given against the order that judges, if there were choices."""
    known = [share for row in shares for share in row if share is not None]
    if all(map(math.isnan, known)):
        return
    shown = set(given[:: -(-len(given) // _CROSSED)])
    rows = [
        (order, judge, share)
        for order, judged in zip(given, shares, strict=True)
        if order in shown
        for judge, share in zip(judges, judged, strict=True)
        if judge in shown
    ]
    yield doc.Exhibit(
        title="Does behaviour follow the order?",
        reading="Share of the choices made under one order (row) that another order (column) "
        "calls right. If the order is followed, the diagonal stands out; equal rows mean that the "
        "order given changes nothing, and equal columns that the choices tested cannot tell the "
        "orders apart.",
        table=table("order given | judged by | right .2", rows),
        picture=doc.Heat(x="judged by", y="order given", value="right"),
    )


def _variance(answer: Answer) -> doc.Exhibit:
    found = answer.variance
    named = (
        *(("orders", found.orders), ("training seeds", found.trainings)),
        *(("both together", found.trainings_by_orders), ("episodes", found.episodes)),
    )
    rows = [(name, None if share is None else 100 * share) for name, share in named]
    return doc.Exhibit(
        title="What makes one episode differ from another?",
        reading="Share of the variance of the return of one episode under one order of one "
        "training. Where there is only one training, seeds cannot be told apart.",
        table=table("due to | share (%) .1", rows),
        picture=doc.Bars("due to", "share"),
    )


def _trainings(search: RecordedSearch, findings: Findings) -> Iterator[doc.Exhibit]:
    rows = []
    for result, sweeps in findings.trainings:
        half = half_over_seeds(sweeps[NORMAL]) if NORMAL in sweeps else math.nan
        rows.append(
            (
                *(result.workflow + 1, result.stage, search.written(result.order)),
                *(around(result.score, half), result.counted, result.compliance),
                *(_share(sweeps.get(STRESS)), result.env_steps, result.reason),
            )
        )
    if not rows:
        return
    heads = "training | stage | order | return (points) .2 ± | choices (per episode) .2 | right .3"
    yield doc.Exhibit(
        title="What was trained?",
        reading="Joint policies follow all orders, free ones none; specialised ones start from the "
        "first joint policy with the same budget, so that they can be compared. Returns are on "
        "fresh seeds; the interval is over env seeds and tells nothing about other trainings.",
        table=table(f"{heads} | right under stress .3 | steps | ended by", rows),
    )


def _share(sweep: Sweep | None) -> float | None:
    if sweep is None:
        return None
    share, *_ = share_interval(sweep.right.reshape(-1), sweep.choices.reshape(-1))
    return share


def orders_data(sweeps: Mapping[str, Sweep], units: tuple[str, ...], stress: int) -> dict[str, Any]:
    """Return a joint policy's evaluation by order as JSON values."""
    answer = find_answer([sweeps[NORMAL]])
    held = find_answer([sweeps[STRESS]]) if STRESS in sweeps else None
    stressed = {one.order: one for one in held.orders} if held is not None else {}
    rows = []
    for one in sorted(answer.orders, key=lambda one: -one.mean):
        row = {
            "order": format_order(one.order, units),
            "return": one.mean,
            "half_interval": one.half,
            "choices_per_episode": one.choices_per_episode,
            "right": one.share_right,
            "right_low": one.share_low,
            "right_high": one.share_high,
            "status": one.status,
        }
        if one.order in stressed:
            under = stressed[one.order]
            row |= {"stress_return": under.mean, "stress_right": under.share_right}
            row |= {"stress_choices_per_episode": under.choices_per_episode}
            row |= {"stress_status": under.status}
        rows.append(row)
    shares = right_by(sweeps[NORMAL], sweeps[NORMAL].orders)
    return {
        "units": list(units),
        "stress": stress if held is not None else 0,
        "episodes": answer.episodes,
        "mean_return": answer.mean_return,
        "followed": len(answer.choices.followed),
        "untested": len(answer.choices.untested),
        "stress_followed": None if held is None else len(held.choices.followed),
        "orders": rows,
        "judges": [format_order(order, units) for order in sweeps[NORMAL].orders],
        "right_by": shares.tolist(),
    }


def orders_section(values: Mapping[str, Any], units: Sequence[str] | None = None) -> doc.Section:
    """Return the section of a joint policy's evaluation by order from its JSON values."""
    rows = values["orders"]
    says = (
        f"mean return {values['mean_return']:.2f} over {len(rows)} orders; {values['followed']} "
        f"followed, {values['untested']} untested"
    )
    if values["stress"]:
        says += f"; after {values['stress']} held steps {values['stress_followed']} followed"
    heads = (
        "order | return on fresh seeds (points) .2 ± | choices (per episode) .2 | right .3 | "
        "followed | choices under stress .1 | right under stress .3"
    )
    cells = [
        (
            *(row["order"], around(row["return"], row["half_interval"])),
            *(row["choices_per_episode"], row["right"], row["status"]),
            *(row.get("stress_choices_per_episode"), row.get("stress_right")),
        )
        for row in rows
    ]
    exhibit = doc.Exhibit(
        title="How does the policy do under each order?",
        reading="Every order plays the same env seeds; the interval is about this very policy. "
        "Right is the share of choices that follow the order; with too few choices an order is "
        "untested.",
        table=table(heads, cells),
        picture=doc.Dots("order", "return on fresh seeds", "low", "high"),
    )
    judges, who = values["judges"], values["policy"]
    who = f"joint policy {who}" if values.get("joint", True) else who
    exhibits = [exhibit, *_crossed(judges, judges, values["right_by"])]
    return doc.Section(
        title=f"Evaluation of {who} by order",
        kind="evaluation",
        headline=doc.Check("evaluation", "good", says),
        facts=(doc.Fact("compliance", values["definition"]), doc.Fact("seed", str(values["seed"]))),
        exhibits=made_by(values.get("command", ""), exhibits),
        notes=() if units is None else (how_to_read(units),),
    )
