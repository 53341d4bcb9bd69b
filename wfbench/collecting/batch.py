"""Environments stepped together by their batched form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import BatchEnv, EnvRef, StepArrays

from .checks import flaw_of
from .scalar import EnvSlice, ScalarSlice


class BatchSlice(EnvSlice):
    """Some environments of a plan as one `BatchEnv`; the counterpart of `ScalarSlice`.

    What the batch raises cannot be attributed to one environment; a bad value can.
    """

    def reset(self, obs: NDArray[Any]) -> None:
        """Start every env's stream of episodes from its seed and write the first observations."""
        with self._attributed():
            self._env.reset(np.array(self._seeds, dtype=np.uint64), obs)
        unbounded = self.info.unbounded
        if self._check and flaw_of(obs, unbounded=unbounded) is not None:
            flaws = [flaw_of(one, unbounded=unbounded) for one in obs]
            row = next(row for row, flaw in enumerate(flaws) if flaw is not None)
            error = ValueError(f"reset wrote an observation with {flaws[row]} in it")
            raise self._fault(error, row=row)

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Step every environment; row i of `out` is of the i-th of them."""
        try:
            self._env.step(actions, out)
        except self._faults as error:
            raise self._fault(error) from error
        if self._check:
            self._refuse_flaws(out)
            finite = np.isfinite(out.rewards)
            if not finite.all():
                row = int(finite.argmin())
                raise self._fault(ValueError(f"step wrote the reward {out.rewards[row]}"), row=row)

    def close(self) -> None:
        """Close the batch."""
        with self._attributed():
            self._env.close()

    def _build(self, ref: EnvRef) -> None:
        with self._attributed("the batch could not be built: "):
            self._env: BatchEnv = ref.make_batch(len(self))
            found = self._env.info
        self.info = replace(found, obs_dtype=np.dtype(found.obs_dtype).str, batched=True)
        if not self._check:
            self.compiled_step = getattr(self._env, "compiled_step", None)

    @contextmanager
    def _attributed(self, prefix: str = "") -> Iterator[None]:
        try:
            yield
        except self._faults as error:
            raise self._fault(error, prefix) from error


def build_slice(
    ref: EnvRef,
    indices: Sequence[int],
    seeds: Sequence[int],
    *,
    batched: bool,
    worker: int = 0,
    check: bool = True,
    progress: Callable[[int], None] | None = None,
) -> EnvSlice:
    """Build environments of a plan in batched or scalar form; see `EnvSlice` for `progress`."""
    form = BatchSlice if batched else ScalarSlice
    return form(ref, indices, seeds, worker=worker, check=check, progress=progress)
