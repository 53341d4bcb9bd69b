"""Evaluate a policy under many orders on the same env seeds, so that orders can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.in_process import InProcessCollector
from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.contract import (
    CollectError,
    Collector,
    EnvRef,
    Order,
    Plan,
    Policy,
    Rollout,
    WorkflowModel,
)
from wfbench.contract.forms import FormOptions, shaped_ref
from wfbench.orders import format_order
from wfbench.orders.compliance import Episodes, Shaper
from wfbench.orders.forms import shown_code
from wfbench.store.sweeps import Sweep

_PATIENCE = 4
"""How many times the expected steps are played before missing episodes are an error."""


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
        plan = make_plan(self.ref, self.episodes, self.seed, purpose=Purpose.EVALUATION)
        # A policy caches what it computed; each order shows it other observations.
        snapshot = policy.snapshot()
        found = [self._order(snapshot.policy(), plan, order) for order in orders]
        played = [episodes for episodes, _ in found]
        sweep = Sweep(
            tuple(orders),
            np.stack([one.env_return for one in played]),
            np.stack([one.counted for one in played]),
            np.stack([one.right for one in played]),
            np.stack([met for _, met in found]),
        )
        return sweep, Episodes.joined(played)

    def _order(
        self, policy: Policy, plan: Plan, order: Order
    ) -> tuple[Episodes, NDArray[np.int64]]:
        """Return the first episode of every environment under an order, and the choices met."""
        form = FormOptions(**self.ref.form)
        shown = format_order(order, self.model.units)
        hold = str(self.hold) if self.hold else ""
        form = replace(form, orders=shown, hold=hold, hold_share=1.0)
        ref = shaped_ref(self.ref, form)
        code = shown_code(ref, self.model)
        shaper = Shaper(self.model, order if code is None else code, definition=self.definition)
        kept: list[Episodes] = []
        units = len(self.model.units)
        met = np.zeros((2**units, units), dtype=np.int64)
        with self.collector() as collector:
            collector.open(replace(plan, env=ref))
            missing = np.ones(self.episodes, dtype=np.bool_)
            last_step = np.full(self.episodes, np.iinfo(np.int64).max)
            for _ in range(_PATIENCE):
                rollout = collector.collect(policy, self.episode_steps)
                met += choices_met(rollout, self.model, last_step)
                ended = shaper.shape(rollout).episodes
                first = np.unique(ended.env_id, return_index=True)[1]
                kept.append(ended.chosen(first[missing[ended.env_id[first]]]))
                missing[ended.env_id] = False
                if not missing.any():
                    return _by_env(kept), met
        raise CollectError(
            f"{missing.sum()} of {self.episodes} episodes did not end within "
            f"{_PATIENCE * self.episode_steps} steps; the environment's episodes are longer"
        )


def choices_met(
    rollout: Rollout, model: WorkflowModel, last_step: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count choices by the set of compromised unit types and the type that was fixed.

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
    met = np.bincount(sets[graded] * units + chosen_unit[graded], minlength=2**units * units)
    return met.reshape(2**units, units)


def _by_env(parts: Sequence[Episodes]) -> Episodes:
    """Join episodes and sort them by environment."""
    joined = Episodes.joined(parts)
    return joined.chosen(np.argsort(joined.env_id))
