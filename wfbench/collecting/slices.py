"""What the scalar and the batched form of a plan's environments share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays, WorkerError

from .checks import rows_with_nan
from .faults import cause_of, trace_of


class EnvSlice(ABC):
    """Some environments of a plan. Whatever goes wrong is raised as a `WorkerError`."""

    info: EnvInfo

    def __init__(
        self, indices: Sequence[int], seeds: Sequence[int], worker: int, *, check: bool
    ) -> None:
        self._indices = list(indices)
        self._seeds = [int(seed) for seed in seeds]
        self._worker = worker
        self._check = check

    def __len__(self) -> int:
        return len(self._indices)

    def first_obs(self) -> NDArray[Any]:
        """Reset every environment; return the first observations in a new array."""
        obs = np.empty((len(self), *self.info.obs_shape), np.dtype(self.info.obs_dtype))
        self.reset(obs)
        return obs

    @abstractmethod
    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""

    @abstractmethod
    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Step every environment; row i of `out` is of the i-th of them."""

    @abstractmethod
    def has_true_state(self) -> bool:
        """Return whether `true_states` can be asked."""

    @abstractmethod
    def true_states(self) -> list[Any]:
        """Return the full nested state of every environment."""

    @abstractmethod
    def close(self) -> None:
        """Close every environment."""

    def _refuse_nan(self, out: StepArrays, first: int = 0) -> None:
        bad = rows_with_nan(out)
        if len(bad):
            error = ValueError("step returned an observation with NaN in it")
            raise self._fault(error, row=first + int(bad[0]))

    def _fault(
        self, error: BaseException, prefix: str = "", *, row: int | None = None
    ) -> WorkerError:
        """Return the error to raise; `row` is the environment to attribute it to, if one is."""
        if row is None:
            prefix = f"envs {self._indices[0]} to {self._indices[-1]}: {prefix}"
        return WorkerError(
            prefix + cause_of(error),
            worker=self._worker,
            env=None if row is None else self._indices[row],
            seed=None if row is None else self._seeds[row],
            traceback=trace_of(error),
        )
