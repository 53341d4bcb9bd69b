"""`wfbench.evaluate` and `verify_transfer`: play a frozen policy on fresh seeds."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wfbench.api.hosting import command_line, plugin_host
from wfbench.api.results import Result, Rows, Values, as_list
from wfbench.api.runs import write_report
from wfbench.contract import EnvSpec, ExitCode, Order, Published, UsageError
from wfbench.orders import all_orders, format_order, parse_order
from wfbench.orders.compliance import DEFAULT as DEFAULT_DEFINITION
from wfbench.orders.compliance import find_definition
from wfbench.report.sections.evaluation import cells_data, cross_data, evaluation_section
from wfbench.report.sections.joint import orders_data, orders_section
from wfbench.report.sections.policies import transfer_section
from wfbench.search import evaluation, subjects
from wfbench.search.answer import Answer, find_answer
from wfbench.search.evaluation import CrossRow, EvaluationCell, Setup
from wfbench.search.subjects import Subject
from wfbench.search.transfer import TransferCell, paired
from wfbench.settings.selection import select
from wfbench.store.evaluations import save_evaluation
from wfbench.store.places import DEFAULT, MATRIX_FILE, find_run
from wfbench.store.run import SPECIAL_FOLDER
from wfbench.store.sweeps import NORMAL, Sweep

if TYPE_CHECKING:
    from wfbench.report.document import Section

REDS = ("bline", "meander", "sleep")
HORIZONS = (30, 50, 100)
EPISODES = 1000
CROSS_EPISODES = 200
HOME_EPISODES = 4000
AWAY_EPISODES = 250
STRESS_STEPS = 15
TRAINED = "trained"


class EvaluationResult(Result, schema="evaluation/2"):
    """Returns and compliance of a policy, by red agent and horizon."""

    policy: str
    env: str
    order: str
    """The order that compliance is judged by."""
    definition: str
    seed: int
    cells: tuple[EvaluationCell, ...]
    published: tuple[Published, ...] = ()
    """Published results in the same environment."""
    units: tuple[str, ...] | None = None
    """The unit types that the order ranks."""
    joint: bool = False
    """Whether the policy follows any order, and was given this one."""
    kept: tuple[str, ...] = ()
    """What `save` wrote, a line each."""

    def _values(self) -> Values:
        values: dict[str, Any] = {"policy": self.policy, "env": self.env, "order": self.order}
        values |= {"joint": self.joint, "definition": self.definition}
        return values | cells_data(self.cells, self.published) | {"seed": self.seed}

    def _rows(self) -> Rows:
        return [dict(cell.__dict__) for cell in self.cells]

    def _sections(self) -> Sequence[Section]:
        return [evaluation_section(self.to_dict(), self.units)]


class OrdersResult(Result, schema="orders-evaluation/1"):
    """Return and right choices of a policy that is told the order, by order, on common seeds."""

    policy: str
    definition: str
    seed: int
    units: tuple[str, ...]
    stress: int
    """Steps that blue was held in the stress episodes."""
    sweeps: Mapping[str, Sweep]
    """By name: `normal`, and `stress` if there was any."""
    joint: bool = True
    """Whether it was trained for all orders; else it was specialised for one."""
    kept: tuple[str, ...] = ()
    """What `save` wrote, a line each."""

    @property
    def answer(self) -> Answer:
        """What the evaluation tells about orders, for this policy."""
        return find_answer([self.sweeps[NORMAL]])

    def _values(self) -> Values:
        values: dict[str, Any] = {"policy": self.policy, "joint": self.joint}
        values |= {"definition": self.definition, "seed": self.seed}
        return values | orders_data(self.sweeps, self.units, self.stress)

    def _rows(self) -> Rows:
        rows: Rows = self._values()["orders"]
        return rows

    def _sections(self) -> Sequence[Section]:
        return [orders_section(self.to_dict(), self.units)]


class CrossEvaluationResult(Result, schema="cross-evaluation/1"):
    """Compliance of policies with every order, whichever order they were given."""

    policy: str
    definition: str
    seed: int
    units: tuple[str, ...]
    judges: tuple[Order, ...]
    crossed: tuple[CrossRow, ...]
    own: Order | None = None
    """The order that the policy was trained for."""
    kept: tuple[str, ...] = ()
    """What `save` wrote, a line each."""

    def _values(self) -> Values:
        values = {"policy": self.policy, "definition": self.definition, "seed": self.seed}
        return values | cross_data(self.judges, self.crossed, self.own, self.units)

    def _rows(self) -> Rows:
        return [
            {
                "order": format_order(row.order, self.units),
                "judged_by": format_order(judge, self.units),
                "compliance": float(compliance),
                "env_return": row.env_return,
            }
            for row in self.crossed
            for judge, compliance in zip(self.judges, row.compliance, strict=True)
        ]

    def _sections(self) -> Sequence[Section]:
        return [evaluation_section(self.to_dict(), self.units)]


class TransferResult(Result, schema="transfer/1"):
    """Mean returns of a policy in two environments, and whether they agree."""

    policy: str
    home: str
    """Where it was trained."""
    away: str
    seed: int
    cells: tuple[TransferCell, ...]

    @property
    def exit_code(self) -> ExitCode:
        """Return 1 if a cell differs."""
        agrees = all(cell.agrees for cell in self.cells)
        return ExitCode.OK if agrees else ExitCode.REGRESSION

    def _values(self) -> Values:
        values = {"policy": self.policy, "home": self.home, "away": self.away, "seed": self.seed}
        return {**values, "cells": self._rows()}

    def _rows(self) -> Rows:
        return [
            asdict(cell)
            | {name: getattr(cell, name) for name in ("difference", "standard_error", "agrees")}
            for cell in self.cells
        ]

    def _sections(self) -> Sequence[Section]:
        return [transfer_section(self.policy, self.home, self.away, self.cells, self.seed)]


Played = EvaluationResult | CrossEvaluationResult | OrdersResult
"""What an evaluation may come to."""


def evaluate(
    policy: str | Path,
    *,
    horizon: int | Sequence[int] | None = None,
    red: str | Sequence[str] | None = None,
    episodes: int | None = None,
    greedy: bool = False,
    order: str | None = None,
    orders: str | None = None,
    stress: int = STRESS_STEPS,
    definition: str | None = None,
    returns_only: bool = False,
    env: str | None = None,
    collector: str = "vector",
    seed: int = 0,
    save: bool = False,
    out: str | Path = DEFAULT,
) -> Played:
    """Play a frozen policy on fresh seeds.

    policy: a policy.npz, a run, or a reference of the environment such as "random" or "sleep".
    horizon, red: steps per episode (default 30, 50, 100) and red agents (default all three).
    episodes: per cell; default 1000, and 200 with `orders`.
    greedy: always take the most likely action.
    order: the order to follow, for a joint policy or a reference; else the order that compliance
        is judged by. Default: its own; a joint policy is given all orders in turn.
    orders: "all" or "A,B,...": give the policy these orders, and judge it by every order;
        "trained": judge every policy of a run by every order.
    stress: also play episodes in which blue is held for so many steps at the start; 0: none.
    definition: what counts as compliance. Default: what the policy was trained on.
    returns_only: do not judge compliance; faster where the true state is costly.
    env: where to play. Default: where it was trained; a reference plays in cage2.
    save: keep the result with the run, and write its report again.

    Example: wfbench.evaluate("results/runs/mine", horizon=30, episodes=100).rows()
    """
    name, place = str(policy), Path(out)
    if orders is not None and (red or horizon or order):
        raise UsageError("--orders needs neither --order nor --red nor --horizon; leave them out")
    if returns_only and (orders is not None or definition is not None):
        raise UsageError("--returns-only judges no compliance; leave --orders and --definition out")
    run = _owner(name, place) if save else None
    replaced = (evaluation.RED,) if orders is None else ()
    subject = find_played(name, place, env, order, greedy=greedy, replaced=replaced)
    [chosen] = select(plugin_host(), {"collector": [collector]})["collector"]
    if episodes is None:
        episodes = EPISODES if orders is None else CROSS_EPISODES
    judged = find_definition(definition or subject.trained_on or DEFAULT_DEFINITION)
    setup = Setup(chosen, episodes, seed, judged.id, stress, judged=not returns_only)
    found: Played
    if orders is None:
        reds = as_list(REDS if red is None else red)
        horizons = as_list(HORIZONS if horizon is None else horizon)
        found = _cells(subject, setup, order, reds, horizons)
    elif orders == TRAINED:
        found = _trained(find_run(place, name), env, setup, greedy=greedy)
    else:
        found = (_crossed if subject.code is None else _swept)(subject, setup, orders)
    return found if run is None else _kept(found, run)


def _kept(found: Played, run: Path) -> Played:
    """Keep a result with its run, refresh the report, and say so."""
    command = shlex.join(["wfbench", *command_line()])
    file = save_evaluation(run, found.schema, {"command": command, **found.to_dict()})
    page, problem = write_report(run)
    report = problem if page is None else f"refreshed {page}"
    return replace(found, kept=(f"kept as {file}", report))


def find_played(
    name: str,
    out: Path,
    env: str | None,
    order: str | None,
    *,
    greedy: bool,
    replaced: Collection[str] = (),
) -> Subject:
    """Return the policy to play, which takes its most likely actions if `greedy`."""
    found = subjects.find_subject(plugin_host(), name, out, env, order, replaced)
    return replace(found, policy=subjects.greedy(found.policy)) if greedy else found


def _owner(policy: str, out: Path) -> Path:
    """Return the run whose policy is played."""
    given = Path(policy)
    try:
        run = given.parent if given.is_file() else find_run(out, policy)
        run = run.parent if run.name == SPECIAL_FOLDER else run
    except UsageError:
        run = given
    if not (run / "config.json").exists():
        raise UsageError(f"--save keeps the result with a run, but {policy} is not of one")
    return run


def _cells(
    subject: Subject, setup: Setup, order: str | None, reds: list[str], horizons: list[int]
) -> EvaluationResult:
    units, spec = subject.model.units, subject.env.spec
    judged = subject.order if order is None else parse_order(order, units)
    joint = subject.order == ()
    if joint and judged:
        subject = subject.given(judged)
    cells = evaluation.evaluate(subject, setup, judged, evaluation.grid(subject, reds, horizons))
    return EvaluationResult(
        policy=subject.name,
        env=spec.name,
        order=format_order(judged, units) if judged else "the order in force",
        definition=setup.definition,
        seed=setup.seed,
        cells=tuple(cells),
        published=spec.published if isinstance(spec, EnvSpec) else (),
        units=tuple(units),
        joint=joint,
    )


def _swept(subject: Subject, setup: Setup, orders: str) -> OrdersResult:
    units = subject.model.units
    given = all_orders(len(units))
    if orders != "all":
        given = tuple(parse_order(part, units) for part in orders.split(","))
    sweeps = evaluation.sweep_orders(subject, setup, given)
    return OrdersResult(
        policy=subject.name,
        definition=setup.definition,
        seed=setup.seed,
        units=tuple(units),
        stress=setup.stress,
        sweeps=sweeps,
        joint=subject.order == (),
    )


def _crossed(subject: Subject, setup: Setup, orders: str) -> CrossEvaluationResult:
    units = tuple(subject.model.units)
    judges = all_orders(len(units))
    codes = judges if orders == "all" else [parse_order(part, units) for part in orders.split(",")]
    rows = tuple(evaluation.cross_evaluate(subject, setup, codes, judges))
    return CrossEvaluationResult(
        subject.name, setup.definition, setup.seed, units, judges, rows, own=subject.order
    )


def _trained(run: Path, env: str | None, setup: Setup, *, greedy: bool) -> CrossEvaluationResult:
    if (run / MATRIX_FILE).exists():
        raise UsageError(f"{run} holds several runs; name one of them")
    found = [one for one in subjects.run_subjects(plugin_host(), run, env) if one.order]
    if not found:
        raise UsageError(f"no training of {run} for one order has finished")
    if greedy:
        found = [replace(one, policy=subjects.greedy(one.policy)) for one in found]
    units = tuple(found[0].model.units)
    judges = all_orders(len(units))
    rows = tuple(evaluation.judge_all(found, setup, judges))
    name = f"every policy of {run.name}"
    return CrossEvaluationResult(name, setup.definition, setup.seed, units, judges, rows)


def verify_transfer(
    policy: str | Path,
    *,
    env: str = "cyborg",
    horizon: int | Sequence[int] | None = None,
    red: str | Sequence[str] | None = None,
    episodes: int = AWAY_EPISODES,
    home_episodes: int = HOME_EPISODES,
    greedy: bool = False,
    order: str | None = None,
    collector: str = "shm",
    seed: int = 0,
    out: str | Path = DEFAULT,
) -> TransferResult:
    """Play a policy where it was trained and in another environment, and compare its returns.

    env: the other environment; the official simulator unless another one is named.
    horizon, red: steps per episode (default 30, 50, 100) and red agents (default all three).
    episodes, home_episodes: per cell, in the other environment and where it was trained.
    order: the order that a joint policy is to follow; default: all in turn.
    collector: for the other environment.

    Example: wfbench.verify_transfer("results/runs/mine", red="bline").rows()
    """
    if min(episodes, home_episodes) < 2:
        raise UsageError("a standard error needs at least 2 episodes in each environment")
    reds = as_list(REDS if red is None else red)
    horizons = as_list(HORIZONS if horizon is None else horizon)
    played: list[list[EvaluationCell]] = []
    names = []
    for where, how, count in ((None, "vector", home_episodes), (env, collector, episodes)):
        subject = _abroad(str(policy), Path(out), where, order, greedy=greedy)
        names.append(subject.env.spec.name)
        [chosen] = select(plugin_host(), {"collector": [how]})["collector"]
        setup = Setup(chosen, count, seed, DEFAULT_DEFINITION, judged=False)
        cells = evaluation.grid(subject, reds, horizons)
        played.append(evaluation.evaluate(subject, setup, subject.order, cells))
    home, away = names
    return TransferResult(str(policy), home, away, seed, paired(*played))


def _abroad(name: str, out: Path, env: str | None, order: str | None, *, greedy: bool) -> Subject:
    found = find_played(name, out, env, order, greedy=greedy, replaced=(evaluation.RED,))
    if order is not None and found.order == ():
        return found.given(parse_order(order, found.model.units))
    return found if order is None else replace(found, order=parse_order(order, found.model.units))
