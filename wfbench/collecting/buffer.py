"""The arrays one `collect` fills, and how they become a `Rollout`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Acts, Counters, EnvInfo, PluginError, Rollout, StepArrays


class RolloutBuffer:
    """`steps` rows of `columns` environments, filled in any order, each cell once or again.

    `obs` has one row more than the others: row t + 1 is where step t leaves the observation to act
    on next, so an environment that steps into `cells(t)` copies nothing. `final_obs`
    is as large as `obs`, but only the cells in which an episode ended are ever touched.
    """

    def __init__(self, steps: int, columns: int, info: EnvInfo) -> None:
        shape, dtype = info.obs_shape, np.dtype(info.obs_dtype)
        cells = (steps, columns)
        self.steps = steps
        self.columns = columns
        self.obs: NDArray[Any] = np.empty((steps + 1, columns, *shape), dtype)
        self.final_obs: NDArray[Any] = np.empty((*cells, *shape), dtype)
        self.actions: NDArray[np.int64] = np.empty(cells, np.int64)
        self.log_probs: NDArray[np.float32] = np.empty(cells, np.float32)
        self.values: NDArray[np.float32] = np.empty(cells, np.float32)
        self.rewards: NDArray[np.float32] = np.empty(cells, np.float32)
        self.terminated: NDArray[np.bool_] = np.zeros(cells, np.bool_)
        self.truncated: NDArray[np.bool_] = np.zeros(cells, np.bool_)
        self.compromised: NDArray[np.uint32] = np.zeros(cells, np.uint32)
        self.ended_session: NDArray[np.bool_] = np.zeros(cells, np.bool_)

    def cells(self, step: int, columns: slice = slice(None)) -> StepArrays:
        """Where step `step` of a run of columns is to be written."""
        return StepArrays(
            obs=self.obs[step + 1, columns],
            rewards=self.rewards[step, columns],
            terminated=self.terminated[step, columns],
            truncated=self.truncated[step, columns],
            final_obs=self.final_obs[step, columns],
            compromised=self.compromised[step, columns],
            ended_session=self.ended_session[step, columns],
        )

    def put_acts(self, step: int, columns: slice, acts: Acts) -> None:
        """Store what the policy chose at `step` for a run of columns."""
        self.actions[step, columns] = acts.actions
        self.log_probs[step, columns] = acts.log_probs
        self.values[step, columns] = acts.values

    def put_step(self, step: int, columns: slice, source: StepArrays) -> None:
        """Copy one step of a run of columns from arrays that are as long as that run."""
        self.obs[step + 1, columns] = source.obs
        self.rewards[step, columns] = source.rewards
        self.terminated[step, columns] = source.terminated
        self.truncated[step, columns] = source.truncated
        self.compromised[step, columns] = source.compromised
        self.ended_session[step, columns] = source.ended_session
        ended = source.terminated | source.truncated
        if ended.any():
            self.final_obs[step, columns][ended] = source.final_obs[ended]

    def rollout(
        self,
        *,
        first_step: NDArray[np.int64],
        policy_version: int | NDArray[np.int64],
        counters: Counters,
        env_id: NDArray[np.int64] | None = None,
        marks: tuple[str, ...] = (),
    ) -> Rollout:
        """The rollout these arrays hold; it takes them over."""
        ids = np.arange(self.columns, dtype=np.int64) if env_id is None else env_id
        return Rollout(
            obs=self.obs[:-1],
            actions=self.actions,
            rewards=self.rewards,
            terminated=self.terminated,
            truncated=self.truncated,
            final_obs=self.final_obs[self.terminated | self.truncated],
            next_obs=self.obs[-1],
            compromised=self.compromised,
            ended_session=self.ended_session,
            log_probs=self.log_probs,
            values=self.values,
            env_id=ids,
            first_step=np.array(first_step, dtype=np.int64),
            policy_version=np.broadcast_to(
                np.asarray(policy_version, dtype=np.int64), (self.columns,)
            ).copy(),
            counters=counters,
            marks=marks,
        )


def checked_acts(acts: Acts, rows: int, num_actions: int, *, check: bool) -> Acts:
    """The policy's answer for `rows` observations, refused if it cannot be one.

    Shapes are always looked at; with `check`, every action must exist too.
    """
    shapes = (acts.actions.shape, acts.log_probs.shape, acts.values.shape)
    if shapes != ((rows,),) * 3:
        raise PluginError(
            f"the policy answered {rows} observations with actions, log_probs and values of shapes "
            f"{shapes}; each must be ({rows},)"
        )
    if not check:
        return acts
    if acts.actions.dtype.kind not in "iu":
        raise PluginError(f"the policy chose actions of type {acts.actions.dtype}, not integers")
    low, high = int(acts.actions.min()), int(acts.actions.max())
    if low < 0 or high >= num_actions:
        raise PluginError(
            f"the policy chose action {low if low < 0 else high}; "
            f"the environment has actions 0 to {num_actions - 1}"
        )
    return acts
