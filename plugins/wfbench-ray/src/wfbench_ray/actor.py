"""What runs in an actor: a slice of the environments, and the policy that steps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.batch import BatchSlice
from wfbench.collecting.buffer import RolloutBuffer, checked_acts
from wfbench.collecting.draws import draw_rows
from wfbench.collecting.faults import cause_of, trace_of
from wfbench.collecting.scalar import ScalarSlice
from wfbench.contract import EnvInfo, EnvRef, PolicySnapshot, WfbenchError, WorkerError

from .cluster import extend_import_path


@dataclass(frozen=True)
class Part:
    """The environments of one actor."""

    worker: int
    env: EnvRef
    first: int
    seeds: tuple[int, ...]
    check: bool
    batched: bool

    @property
    def columns(self) -> slice:
        """Where they are in the plan."""
        return slice(self.first, self.first + len(self.seeds))


@dataclass(frozen=True)
class Stretch:
    """What one actor collected, as arrays."""

    arrays: dict[str, NDArray[Any]]
    """Of a `RolloutBuffer`, without `final_obs`."""
    final_obs: NDArray[Any]
    env_seconds: float
    policy_seconds: float


class SliceActor:
    """Builds its environments, then goes on with them as often as it is asked.

    Faults are answers, not exceptions, so that they arrive as they are.
    """

    def __init__(self, part: Part, path: Sequence[str]) -> None:
        extend_import_path(list(path))
        self._part = part
        self._beats = 0
        self._done = 0

    def beats(self) -> int:
        """How many steps it has made; can be asked while it makes them."""
        return self._beats

    def open(self) -> EnvInfo | WfbenchError:
        """Build and reset the environments."""
        try:
            return self._open()
        except WfbenchError as error:
            return error
        except Exception as error:  # noqa: BLE001 - an environment may raise anything
            return self._fault(error)

    def collect(self, snapshot: PolicySnapshot, steps: int) -> Stretch | WfbenchError:
        """Go on for so many steps of every environment."""
        try:
            return self._collect(snapshot, steps)
        except WfbenchError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            return self._fault(error)

    def _open(self) -> EnvInfo:
        part = self._part
        indices = range(part.columns.start, part.columns.stop)
        build = BatchSlice if part.batched else ScalarSlice
        self._envs = build(part.env, indices, part.seeds, worker=part.worker, check=part.check)
        info: EnvInfo = self._envs.info
        self._obs = np.empty((len(part.seeds), *info.obs_shape), np.dtype(info.obs_dtype))
        self._envs.reset(self._obs)
        self._seeds = np.array(part.seeds, dtype=np.uint64)
        return info

    def _collect(self, snapshot: PolicySnapshot, steps: int) -> Stretch:
        policy, info = snapshot.policy(), self._envs.info
        buffer = RolloutBuffer(steps, len(self._seeds), info)
        buffer.obs[0] = self._obs
        inference = stepping = 0.0
        for step, draws in enumerate(draw_rows(self._seeds, self._done, steps)):
            asked = perf_counter()
            acts = checked_acts(
                policy.act(buffer.obs[step], draws),
                len(self._seeds),
                info.num_actions,
                check=self._part.check,
            )
            answered = perf_counter()
            self._envs.step(acts.actions, buffer.cells(step))
            buffer.put_acts(step, slice(None), acts)
            inference += answered - asked
            stepping += perf_counter() - answered
            self._beats += 1
        self._done += steps
        self._obs = buffer.obs[-1].copy()
        arrays = {name: value for name, value in vars(buffer).items() if _is_array(value)}
        ended = buffer.terminated | buffer.truncated
        del arrays["final_obs"]
        return Stretch(arrays, buffer.final_obs[ended], stepping, inference)

    def _fault(self, error: Exception) -> WorkerError:
        return WorkerError(cause_of(error), worker=self._part.worker, traceback=trace_of(error))


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)
