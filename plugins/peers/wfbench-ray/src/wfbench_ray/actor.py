"""What runs in an actor: a slice of the environments, and the policy that steps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.batch import build_slice
from wfbench.collecting.buffer import RolloutBuffer
from wfbench.collecting.faults import cause_of, trace_of
from wfbench.collecting.phases import Phases
from wfbench.collecting.playing import play
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
        """Return where they are in the plan."""
        return slice(self.first, self.first + len(self.seeds))


@dataclass(frozen=True)
class Stretch:
    """What one actor collected, as arrays."""

    arrays: dict[str, NDArray[Any]]
    """Those of a `RolloutBuffer`; of `final_obs` only where an episode ended."""
    env_seconds: float
    policy_seconds: float


class SliceActor:
    """Builds its environments, then continues with them as often as it is asked.

    Faults are answers, not exceptions, so that they arrive as they are.
    """

    def __init__(self, part: Part, path: Sequence[str]) -> None:
        extend_import_path(list(path))
        self._part = part
        self._beats = 0
        self._done = 0

    def beats(self) -> int:
        """Return how many steps it has made, also while it makes them."""
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
        """Continue for so many steps of every environment."""
        try:
            return self._collect(snapshot, steps)
        except WfbenchError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a policy may raise anything
            return self._fault(error)

    def _open(self) -> EnvInfo:
        part = self._part
        self._envs = build_slice(
            part.env,
            range(part.columns.start, part.columns.stop),
            part.seeds,
            batched=part.batched,
            worker=part.worker,
            check=part.check,
        )
        self._obs = self._envs.first_obs()
        self._seeds = np.array(part.seeds, dtype=np.uint64)
        return self._envs.info

    def _collect(self, snapshot: PolicySnapshot, steps: int) -> Stretch:
        info, phases = self._envs.info, Phases()
        buffer = RolloutBuffer(steps, len(self._seeds), info)
        buffer.obs[0] = self._obs
        played = play(
            snapshot.policy(),
            buffer,
            self._seeds,
            self._done,
            phases,
            num_actions=info.num_actions,
            check=self._part.check,
        )
        for actions, out in played:
            self._envs.step(actions, out)
            self._beats += 1
        self._done += steps
        self._obs = buffer.obs[-1].copy()
        final_obs = buffer.final_obs[buffer.terminated | buffer.truncated]
        return Stretch({**buffer.arrays, "final_obs": final_obs}, phases.env, phases.inference)

    def _fault(self, error: Exception) -> WorkerError:
        return WorkerError(cause_of(error), worker=self._part.worker, traceback=trace_of(error))
