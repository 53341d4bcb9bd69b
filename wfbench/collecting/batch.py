"""Environments stepped together by their batched form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import BatchEnv, EnvInfo, EnvRef, StepArrays, WorkerError

from .checks import has_nan, rows_with_nan
from .faults import cause_of, trace_of


class BatchSlice:
    """Some environments of a plan as one `BatchEnv`; the counterpart of `ScalarSlice`.

    What the batch raises cannot be laid at one environment's door; NaN can.
    """

    def __init__(
        self,
        ref: EnvRef,
        indices: Sequence[int],
        seeds: Sequence[int],
        *,
        worker: int = 0,
        check: bool = True,
    ) -> None:
        self._indices = list(indices)
        self._seeds = [int(seed) for seed in seeds]
        self._worker = worker
        self._check = check
        try:
            self._env: BatchEnv = ref.make_batch(len(self._indices))
            found = self._env.info
        except BaseException as error:
            raise self._fault(error, "the batch could not be built: ") from error
        self.info: EnvInfo = replace(found, obs_dtype=np.dtype(found.obs_dtype).str, batched=True)

    def __len__(self) -> int:
        return len(self._indices)

    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""
        try:
            self._env.reset(np.array(self._seeds, dtype=np.uint64), obs)
        except BaseException as error:
            raise self._fault(error) from error
        if self._check and has_nan(obs):
            row = int(np.isnan(obs.reshape(len(obs), -1)).any(axis=1).argmax())
            raise self._fault(ValueError("reset wrote an observation with NaN in it"), row=row)

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """One step of every environment; row i of `out` is of the i-th of them."""
        try:
            self._env.step(actions, out)
        except BaseException as error:
            raise self._fault(error) from error
        if self._check:
            self._refuse_nan(out)

    def has_true_state(self) -> bool:
        """A batch has no nested state to tell."""
        return False

    def true_states(self) -> list[Any]:
        """Refused."""
        raise self._fault(TypeError("a batched environment has no true state"))

    def close(self) -> None:
        """Close the batch."""
        try:
            self._env.close()
        except BaseException as error:
            raise self._fault(error) from error

    def _refuse_nan(self, out: StepArrays) -> None:
        bad = rows_with_nan(out)
        if len(bad):
            error = ValueError("step wrote an observation with NaN in it")
            raise self._fault(error, row=int(bad[0]))
        finite = np.isfinite(out.rewards)
        if not finite.all():
            row = int(finite.argmin())
            raise self._fault(ValueError(f"step wrote the reward {out.rewards[row]}"), row=row)

    def _fault(
        self, error: BaseException, prefix: str = "", *, row: int | None = None
    ) -> WorkerError:
        return WorkerError(
            prefix + cause_of(error),
            worker=self._worker,
            env=None if row is None else self._indices[row],
            seed=None if row is None else self._seeds[row],
            traceback=trace_of(error),
        )
