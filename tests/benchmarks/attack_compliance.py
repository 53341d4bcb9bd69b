"""Attack the definitions of compliance: train on the alignment reward alone and see what is done.

    python tests/benchmarks/attack_compliance.py --red bline --updates 100

A policy that is paid for nothing but compliance finds whatever the definition lets it get away
with. Printed per definition and order, over fresh episodes: compliance by the definition itself and
by others, fixes and how many of them were wasted or made where there was a choice (at least two
unit types compromised), and the return nobody asked it for. The figures of `docs/compliance.md`
were made with this.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wfbench.compliance import DEFINITIONS, Shaper, chance_level, find_definition
from wfbench.contract import Order, Rollout, TrainerSetup, WorkflowModel
from wfbench.orders import format_order, parse_order
from wfbench.plugins import PluginSettings, load_plugins
from wfbench.seeding import Purpose, make_plan, purpose_seed
from wfbench.selection import env_ref, select

ORDERS = ("D>E>S>H>U", "U>S>E>H>D", "S>E>U>H>D", "H>U>D>E>S")
EPISODE = 100
WEIGHT = 30.0


@dataclass(frozen=True)
class Conduct:
    """What a policy does in fresh episodes; means per episode."""

    definition: str
    order: str
    red: str
    reward: str
    compliance: float
    """By the definition it was trained on; then by two others."""
    effective: float
    strict_nofoothold: float
    chance: float | None
    """What fixes made at random would score in the states that it visited."""
    fixes: float
    wasted: float
    counted: float
    uncounted_episodes: float
    """Share of episodes in which no fix counted."""
    choices: float
    """Fixes that ended a session while at least two unit types were compromised."""
    choices_right: float | None
    """The share of those that went to the most urgent type."""
    env_return: float


def main(arguments: list[str] | None = None) -> int:
    """Run the attacks and print a table, or JSON lines."""
    given = _arguments(arguments)
    if not given.json:
        sys.stdout.write(_HEADER)
    for conduct in attacks(given):
        sys.stdout.write(json.dumps(asdict(conduct)) + "\n" if given.json else _line(conduct))
        sys.stdout.flush()
    return 0


def attacks(given: argparse.Namespace) -> Iterator[Conduct]:
    """One trained policy after the other."""
    for definition in given.definition or list(DEFINITIONS):
        for text in given.order or ORDERS:
            yield attack(given, find_definition(definition).id, parse_order(text))


def attack(given: argparse.Namespace, definition: str, order: Order) -> Conduct:
    """Train on a definition and watch what comes of it."""
    chosen = select(
        load_plugins(PluginSettings()),
        {"env": [f"cage2:{given.red}"], "collector": ["vector"], "trainer": [given.trainer]},
    )
    ref = env_ref(chosen["env"][0])
    with chosen["collector"][0].build() as collector:
        info = collector.open(make_plan(ref, given.n_envs, given.seed))
        setup = TrainerSetup(
            info, purpose_seed(given.seed, Purpose.TRAINER), expected_updates=given.updates
        )
        trainer = chosen["trainer"][0].build(setup)
        trainer.start(order)
        shaper = Shaper(info.workflow, order, definition=definition, weight=WEIGHT)
        for _ in range(given.updates):
            rollout = collector.collect(trainer.policy(), EPISODE)
            shaped = shaper.shape(rollout)
            rewards = {
                "alignment": shaped.alignment,
                "total": shaped.rewards,
                "environment": rollout.rewards,
            }
            trainer.update(rollout, rewards[given.reward])
    with chosen["collector"][0].build() as collector:
        plan = make_plan(ref, given.episodes, given.seed, purpose=Purpose.EVALUATION)
        collector.open(plan)
        return conduct_of(
            collector.collect(trainer.policy(), EPISODE), info.workflow, definition, order, given
        )


def conduct_of(
    rollout: Rollout,
    model: WorkflowModel,
    definition: str,
    order: Order,
    given: argparse.Namespace,
) -> Conduct:
    """What was done in a rollout of whole episodes."""
    judged = {
        name: Shaper(model, order, definition=name, beside=definition).shape(rollout).episodes
        for name in ("effective@1", "strict-nofoothold@1", definition)
    }
    own = judged[definition]
    choices, right = choices_made(rollout, model, order)
    return Conduct(
        definition=definition,
        order=format_order(order, model.units),
        red=given.red,
        reward=given.reward,
        compliance=float(own.compliance.mean()),
        effective=float(judged["effective@1"].compliance.mean()),
        strict_nofoothold=float(judged["strict-nofoothold@1"].compliance.mean()),
        chance=chance_level(definition, model, order, rollout),
        fixes=float(own.fixes.mean()),
        wasted=float(own.wasted.mean()),
        counted=float(own.counted.mean()),
        uncounted_episodes=float((own.counted == 0).mean()),
        choices=choices / len(own),
        choices_right=right / choices if choices else None,
        env_return=float(own.env_return.mean()),
    )


def choices_made(rollout: Rollout, model: WorkflowModel, order: Order) -> tuple[int, int]:
    """Fixes that ended a session where there was a choice, and how many of them were right."""
    hit = np.zeros((len(order), *rollout.actions.shape), dtype=np.bool_)
    for host, unit in enumerate(model.host_unit):
        if host not in model.footholds:
            hit[order.index(unit)] |= (rollout.compromised >> np.uint32(host) & 1).astype(bool)
    place = np.array([-1 if unit < 0 else order.index(unit) for unit in model.fix_unit])
    fixed = place[rollout.actions]
    made = (fixed >= 0) & rollout.ended_session & (hit.sum(axis=0) >= 2)
    return int(made.sum()), int((made & (fixed == hit.argmax(axis=0))).sum())


_HEADER = (
    f"{'definition':22}{'order':11}{'red':9}{'own':>6}{'chance':>8}{'effect.':>8}{'nofoot.':>8}"
    f"{'fixes':>7}{'wasted':>7}{'counted':>8}{'none':>6}{'choices':>8}{'right':>6}{'return':>8}\n"
)


def _line(conduct: Conduct) -> str:
    c = conduct
    return (
        f"{c.definition:22}{c.order:11}{c.red:9}{c.compliance:6.2f}{_number(c.chance):>8}"
        f"{c.effective:8.2f}{c.strict_nofoothold:8.2f}{c.fixes:7.1f}{c.wasted:7.1f}"
        f"{c.counted:8.1f}{c.uncounted_episodes:6.2f}{c.choices:8.1f}"
        f"{_number(c.choices_right):>6}{c.env_return:8.1f}\n"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _arguments(arguments: list[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--definition", action="append", help="default: every one")
    parser.add_argument("--order", action="append", help=f"default: {', '.join(ORDERS)}")
    parser.add_argument("--red", default="bline")
    parser.add_argument(
        "--reward", default="alignment", choices=("alignment", "total", "environment")
    )
    parser.add_argument("--trainer", default="ppo")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--n-envs", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
