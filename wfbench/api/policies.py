"""`wfbench.load_policy`: a trained policy that takes observations and returns actions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wfbench.api.hosting import plugin_host
from wfbench.contract import Policy, UsageError
from wfbench.orders import format_order, parse_order
from wfbench.orders.codes import OrderCode
from wfbench.store.places import DEFAULT, find_run
from wfbench.store.policy_file import PolicyLabel, read_policy

if TYPE_CHECKING:
    from wfbench.api.runs import Run


@dataclass(frozen=True, repr=False)
class LoadedPolicy:
    """A trained policy and what it was trained for."""

    label: PolicyLabel
    """Its order, environment, score, compliance and the run it comes from."""
    policy: Policy
    rng: np.random.Generator
    order: NDArray[np.uint8] | None = None
    """The code of the order that it is told; None: observations show it, or it needs none."""

    @property
    def obs_shape(self) -> tuple[int, ...]:
        """The shape of the observations it takes."""
        if self.order is None:
            return self.label.obs_shape
        return (math.prod(self.label.obs_shape) - len(self.order),)

    def act(self, obs: ArrayLike) -> Any:
        """Return the action for one observation, or an array of actions for a batch of them."""
        rows: NDArray[Any] = np.asarray(obs)
        single = rows.shape == self.obs_shape
        if not single and rows.shape[1:] != self.obs_shape:
            raise UsageError(
                f"the observation has shape {rows.shape}; the policy takes {self.obs_shape}, "
                "or a batch of them"
            )
        batch = rows[np.newaxis] if single else rows
        if self.order is not None:
            code = np.broadcast_to(self.order, (len(batch), len(self.order)))
            batch = np.concatenate([batch, code.astype(batch.dtype)], axis=1)
        actions = self.policy.act(batch, self.rng.random(len(batch))).actions
        return int(actions[0]) if single else actions

    def __repr__(self) -> str:
        order = ">".join(self.label.units[unit] for unit in self.label.order) or "any order"
        return f"LoadedPolicy({order} in {self.label.env}, return {self.label.score})"


def load_policy(
    source: str | Path | Run,
    *,
    order: str | None = None,
    greedy: bool = False,
    seed: int | None = None,
    out: str | Path = DEFAULT,
) -> LoadedPolicy:
    """Load a trained policy from a policy.npz, a run directory or a Run.

    order: the order that a joint policy is to follow, such as "USEHD". Its observations are then
        those of the environment itself; without it they must end with the code of an order.
        A policy that was specialised for one order is told it anyway.
    greedy: always take the most likely action; otherwise actions are drawn.
    seed: for the draws; None gives others every time.

    Example: wfbench.load_policy("results/runs/mine").act(obs)
    """
    from wfbench.search.subjects import greedy as sharpened
    from wfbench.search.subjects import trusted

    place = source if isinstance(source, (str, Path)) else source.path
    file = Path(place)
    if not file.is_file():
        run = find_run(Path(out), str(place))
        file = run / "policy.npz"
        if not file.exists():
            raise UsageError(f"{run} has no policy.npz: no workflow of it has finished")
    stored = read_policy(file)
    policy = stored.policy(trusted(plugin_host()))
    rng = np.random.default_rng(seed)
    code = _code(stored.label, order)
    return LoadedPolicy(stored.label, sharpened(policy) if greedy else policy, rng, code)


def _code(label: PolicyLabel, order: str | None) -> NDArray[np.uint8] | None:
    """Return the bits that tell a policy which order to follow; None: it is not told here."""
    followed = None if order is None else parse_order(order, label.units)
    if label.order and followed not in (None, label.order):
        raise UsageError(
            f"the policy follows {format_order(label.order, label.units)} only; leave order out"
        )
    told = label.order or followed
    if not told or not label.env_options.get("orders"):
        return None
    return OrderCode(str(label.env_options["order_code"]), len(label.units)).encode(told)
