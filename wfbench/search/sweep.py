"""Evaluate a policy under many orders on the same env seeds, so that orders can be compared."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.collecting.in_process import InProcessCollector
from wfbench.collecting.phases import Phases
from wfbench.collecting.playing import play
from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.contract import (
    CollectError,
    Collector,
    EnvRef,
    Order,
    Plan,
    Policy,
    Rollout,
    StepArrays,
    WorkflowModel,
)
from wfbench.contract.forms import FormOptions, shaped_ref
from wfbench.orders import format_order
from wfbench.orders.compliance import Episodes, Shaper
from wfbench.orders.forms import shown_code
from wfbench.orders.shaped_envs import SweptBatch
from wfbench.store.sweeps import Sweep

_ROWS = 2048
"""Environments stepped together, at most: more would be no faster and need more memory."""
_PATIENCE = 4
"""How many times the expected steps are played before missing episodes are an error."""


Rollouts = Generator[Rollout, None, None]


@dataclass(frozen=True)
class SweepPlan:
    """What is played for each order: one episode of each of `episodes` environments."""

    ref: EnvRef
    """The environment; which orders it shows is decided by the sweep."""
    model: WorkflowModel
    definition: str
    episodes: int
    episode_steps: int
    seed: int
    hold: int = 0
    """Steps that blue is held at the start of every episode."""
    collector: Callable[[], Collector] = InProcessCollector

    @property
    def env_steps(self) -> int:
        """Return the environment steps per order if every episode has its full length."""
        return self.episodes * self.episode_steps

    def run(self, policy: Policy, orders: Sequence[Order]) -> tuple[Sweep, Episodes]:
        """Play and judge every order; return what is kept, and all episodes, order by order."""
        together = self.collector is InProcessCollector and self.ref.batched is not None
        share = max(1, _ROWS // self.episodes) if together else 1
        # A policy caches what it computed; each order shows it other observations.
        snapshot = policy.snapshot()
        played: list[Episodes] = []
        met: list[NDArray[np.int64]] = []
        for first in range(0, len(orders), share):
            some = orders[first : first + share]
            episodes, choices = self._judge(self._rollouts(snapshot.policy(), some), some)
            played += episodes
            met += list(choices)
        sweep = Sweep(
            tuple(orders),
            np.stack([one.env_return for one in played]),
            np.stack([one.counted for one in played]),
            np.stack([one.right for one in played]),
            np.stack(met),
        )
        return sweep, Episodes.joined(played)

    def _shown(self, orders: Sequence[Order]) -> EnvRef:
        """Refer to an environment that shows these orders and holds blue as the sweep says."""
        shown = ";".join(format_order(order, self.model.units) for order in orders)
        hold = str(self.hold) if self.hold else ""
        form = replace(FormOptions(**self.ref.form), orders=shown, hold=hold, hold_share=1.0)
        return shaped_ref(self.ref, form)

    def _rollouts(self, policy: Policy, orders: Sequence[Order]) -> Rollouts:
        """Play on and on: the same environments for every order, those of an order together."""
        plan = make_plan(self._shown(orders), self.episodes, self.seed, purpose=Purpose.EVALUATION)
        if len(orders) > 1:
            yield from _play_together(plan, policy, len(orders), self.episode_steps)
        with self.collector() as collector:
            collector.open(plan)
            while True:
                yield collector.collect(policy, self.episode_steps)

    def _judge(
        self, rollouts: Rollouts, orders: Sequence[Order]
    ) -> tuple[list[Episodes], NDArray[np.int64]]:
        """Return each order's first episode of every environment, and the choices met."""
        code = shown_code(self._shown(orders), self.model)
        shaper = Shaper(self.model, orders[0] if code is None else code, definition=self.definition)
        kept: list[Episodes] = []
        units, count = len(self.model.units), len(orders) * self.episodes
        met = np.zeros((len(orders), 2**units, units), dtype=np.int64)
        missing = np.ones(count, dtype=np.bool_)
        last_step = np.full(count, np.iinfo(np.int64).max)
        with closing(rollouts):
            for rollout in islice(rollouts, _PATIENCE):
                met += choices_met(rollout, self.model, last_step, len(orders))
                ended = shaper.shape(rollout).episodes
                first = np.unique(ended.env_id, return_index=True)[1]
                kept.append(ended.chosen(first[missing[ended.env_id[first]]]))
                missing[ended.env_id] = False
                if not missing.any():
                    return _by_order(kept, self.episodes), met
        raise CollectError(
            f"{missing.sum()} of {count} episodes did not end within "
            f"{_PATIENCE * self.episode_steps} steps; the environment's episodes are longer"
        )


def _play_together(plan: Plan, policy: Policy, orders: int, steps: int) -> Rollouts:
    """Step the environments of all orders as one batch, whose rows have repeating seeds."""
    inner = replace(plan.env, form={}).make_batch(orders * plan.n_envs)
    envs = SweptBatch(inner, **plan.env.form)
    seeds = np.tile(np.array(plan.env_seeds, dtype=np.uint64), orders)
    first_step = 0
    obs = StepArrays.allocate(len(seeds), envs.info).obs
    envs.reset(seeds, obs)
    while True:
        buffer, phases = RolloutBuffer(steps, len(seeds), envs.info), Phases()
        buffer.obs[0] = obs
        actions = envs.info.num_actions
        for chosen, out in play(
            policy, buffer, seeds, first_step, phases, num_actions=actions, check=plan.check
        ):
            envs.step(chosen, out)
        obs = buffer.obs[-1].copy()
        yield buffer.rollout(
            first_step=np.full(len(seeds), first_step),
            policy_version=policy.version,
            counters=phases.counters(),
        )
        first_step += steps


def choices_met(
    rollout: Rollout, model: WorkflowModel, last_step: NDArray[np.int64], orders: int
) -> NDArray[np.int64]:
    """Count choices by order, the set of compromised unit types and the type that was fixed.

    Only rows of the first episode of each environment count: up to `last_step`, which is lowered
    where that episode ends in this rollout. Several columns may be of one environment.
    """
    steps = rollout.first_step + np.arange(len(rollout.actions))[:, None]
    envs = np.broadcast_to(rollout.env_id, steps.shape)
    np.minimum.at(last_step, envs[rollout.ended], steps[rollout.ended])
    units = len(model.units)
    sets = np.zeros(rollout.actions.shape, dtype=np.int64)
    for host, unit in enumerate(model.host_unit):
        if host not in model.footholds:
            owned = (rollout.compromised >> np.uint32(host)) & np.uint32(1)
            sets |= owned.astype(np.int64) << unit
    fixes = zip(model.fix_host, model.fix_unit, strict=True)
    fixed = np.array([-1 if host in model.footholds else unit for host, unit in fixes])
    chosen_unit = fixed[rollout.actions]
    several = sets & (sets - 1) != 0
    graded = (chosen_unit >= 0) & rollout.ended_session & several & (steps <= last_step[envs])
    order = envs[graded] * orders // len(last_step)
    cells = (order * 2**units + sets[graded]) * units + chosen_unit[graded]
    met = np.bincount(cells, minlength=orders * 2**units * units)
    return met.reshape(orders, 2**units, units)


def _by_order(parts: Sequence[Episodes], count: int) -> list[Episodes]:
    """Join episodes and sort them by environment, of which each order has `count`."""
    joined = Episodes.joined(parts)
    joined = joined.chosen(np.argsort(joined.env_id))
    joined = replace(joined, env_id=joined.env_id % count)
    return [joined.chosen(np.arange(i, i + count)) for i in range(0, len(joined), count)]
