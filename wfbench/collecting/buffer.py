"""The arrays one `collect` fills, and how they become a `Rollout`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Acts, Counters, EnvInfo, PluginError, Rollout, StepArrays
from wfbench.contract.record import STEP_FIELDS, StepRecord, array_shapes

OBSERVATIONS = ("obs", "final_obs")


def buffer_shapes(
    steps: int, columns: int, info: EnvInfo
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and type of every array of a `RolloutBuffer`."""
    cells = (steps, columns)
    shapes = array_shapes(StepRecord, cells, info) | array_shapes(Acts, cells, info)
    return shapes | {"obs": ((steps + 1, columns, *info.obs_shape), info.obs_dtype)}


class RolloutBuffer:
    """`steps` rows of `columns` environments, filled in any order, each cell once or again.

    `obs` has one row more than the others: row t + 1 is where step t leaves the observation to act
    on next, so an environment that steps into `cells(t)` copies nothing. `final_obs` is as large as
    `obs`, but only the cells in which an episode ended are ever touched. `arrays` are those of
    `buffer_shapes`, for a buffer in memory that is already there.
    """

    obs: NDArray[Any]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_obs: NDArray[Any]

    def __init__(
        self,
        steps: int,
        columns: int,
        info: EnvInfo,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.steps = steps
        self.columns = columns
        self.arrays = arrays or {
            name: (np.empty if name in OBSERVATIONS else np.zeros)(*shape)
            for name, shape in buffer_shapes(steps, columns, info).items()
        }
        vars(self).update(self.arrays)
        self._out = StepArrays.among({**self.arrays, "obs": self.obs[1:]})

    def cells(self, step: int, columns: slice = slice(None)) -> StepArrays:
        """Return where step `step` of a run of columns is to be written."""
        return self._out.rows((step, columns))

    def each_step(self, columns: slice) -> Iterator[tuple[NDArray[Any], Acts, StepArrays]]:
        """Yield what each step of a run of columns acts on, and where to write acts and results.

        Iterating over whole arrays takes half the time of indexing them at every step.
        """
        acts = zip(*[self.arrays[name][:, columns] for name in Acts._fields], strict=True)
        out = zip(*[getattr(self._out, name)[:, columns] for name in STEP_FIELDS], strict=True)
        return zip(
            self.obs[:-1, columns], map(Acts._make, acts), starmap(StepArrays, out), strict=True
        )

    def put_acts(self, step: int, columns: slice, acts: Acts) -> None:
        """Store what the policy chose at `step` for a run of columns."""
        for name, values in zip(Acts._fields, acts, strict=True):
            self.arrays[name][step, columns] = values

    def put_step(self, step: int, columns: slice, source: StepArrays) -> None:
        """Copy one step of a run of columns from arrays that are as long as that run."""
        self.cells(step, columns).write(source)

    def put_columns(self, columns: slice, source: Mapping[str, NDArray[Any]]) -> int:
        """Copy all steps of a run of columns; return the bytes moved.

        `source` has arrays like those of a buffer. Its `final_obs` may hold the last observations
        of the episodes that ended and nothing else, as that of a rollout does.
        """
        moved = 0
        ended = source["terminated"] | source["truncated"]
        for name, array in source.items():
            into = self.arrays[name][:, columns]
            if name == "final_obs":
                final_obs = array[ended] if array.ndim == into.ndim else array
                into[ended] = final_obs
                moved += final_obs.nbytes
            else:
                into[...] = array
                moved += array.nbytes
        return moved

    def rollout(
        self,
        *,
        first_step: NDArray[np.int64],
        policy_version: int | NDArray[np.int64],
        counters: Counters,
        env_id: NDArray[np.int64] | None = None,
        marks: tuple[str, ...] = (),
    ) -> Rollout:
        """Return the rollout these arrays hold; it takes them over."""
        arrays: dict[str, Any] = {name: self.arrays[name] for name in (*STEP_FIELDS, *Acts._fields)}
        arrays |= {
            "obs": self.obs[:-1],
            "next_obs": self.obs[-1],
            "final_obs": self.final_obs[self.terminated | self.truncated],
        }
        versions = np.broadcast_to(np.asarray(policy_version, np.int64), (self.columns,))
        return Rollout(
            **arrays,
            env_id=np.arange(self.columns, dtype=np.int64) if env_id is None else env_id,
            first_step=np.array(first_step, dtype=np.int64),
            policy_version=versions.copy(),
            counters=counters,
            marks=marks,
        )


def checked_acts(acts: Acts, rows: int, num_actions: int, *, check: bool) -> Acts:
    """Return the policy's answer for `rows` observations; raise PluginError if it cannot be one.

    Shapes are always checked; with `check`, every action must exist too.
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
    # As an unsigned number a negative one is too large, so one reduction finds both.
    if np.maximum.reduce(acts.actions.astype(np.uint64)) >= num_actions:
        low, high = int(acts.actions.min()), int(acts.actions.max())
        raise PluginError(
            f"the policy chose action {low if low < 0 else high}; "
            f"the environment has actions 0 to {num_actions - 1}"
        )
    return acts
