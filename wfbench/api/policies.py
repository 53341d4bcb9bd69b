"""`wfbench.load_policy`: a trained policy that takes observations and returns actions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wfbench.api.hosting import plugin_host
from wfbench.contract import Policy, UsageError
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

    def act(self, obs: ArrayLike) -> Any:
        """Return the action for one observation, or an array of actions for a batch of them."""
        rows: NDArray[Any] = np.asarray(obs)
        single = rows.shape == self.label.obs_shape
        if not single and rows.shape[1:] != self.label.obs_shape:
            raise UsageError(
                f"the observation has shape {rows.shape}; the policy takes {self.label.obs_shape}, "
                "or a batch of them"
            )
        batch = rows[np.newaxis] if single else rows
        actions = self.policy.act(batch, self.rng.random(len(batch))).actions
        return int(actions[0]) if single else actions

    def __repr__(self) -> str:
        order = ">".join(self.label.units[unit] for unit in self.label.order)
        return f"LoadedPolicy({order} in {self.label.env}, return {self.label.score})"


def load_policy(
    source: str | Path | Run,
    *,
    greedy: bool = False,
    seed: int | None = None,
    out: str | Path = DEFAULT,
) -> LoadedPolicy:
    """Load a trained policy from a policy.npz, a run directory or a Run.

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
    return LoadedPolicy(stored.label, sharpened(policy) if greedy else policy, rng)
