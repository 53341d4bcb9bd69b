"""What an environment offers to wfbench.

An environment is an ordinary `gymnasium.Env` with a `Box` observation and a `Discrete` action
space. Two optional additions make it more:

* a *workflow model* (attribute `workflow` of the unwrapped env, a `WorkflowModel`). Then `info`
  of every `step` has `compromised_hosts` (bit mask of the hosts compromised *before* the action)
  and `ended_session` (whether the action ended an intruder's session), so that compliance with an
  order can be graded. `true_state()` may return the full nested state; it is called on request.
* a *batched form* (`EnvSpec.batched`), which steps many environments into arrays that the caller
  owns, without a loop in Python. Given the same env seed it must produce the same episodes as the
  scalar form, at any position and batch size. If its attribute `compiled_step` is a `CompiledStep`,
  a policy that is compiled, too, makes many steps without going back to Python.

The module of an environment's factory may also have a function `warm_up()`. It is called once in
the process from which workers are forked, to load what is slow or large (compiled code, tables) and
share it with all of them.

Seeds: `reset(seed=s)` starts the env's own stream of episodes; `reset()` continues with the next
episode of that stream. An env reads no global random state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .notes import NotesModel
from .record import StepArrays


@dataclass(frozen=True)
class WorkflowModel:
    """How hosts and actions map to the unit types that an order ranks."""

    units: tuple[str, ...]
    """Unit types in canonical order; an order is a permutation of their indices."""
    hosts: tuple[str, ...]
    """Host names; bit h of a `compromised_hosts` mask is host h."""
    host_unit: tuple[int, ...]
    """Unit type of each host."""
    fix_host: tuple[int, ...]
    """For each action the host it fixes, or -1 if it is not a fix action."""
    footholds: tuple[int, ...] = ()
    """Hosts on which the intruder has a session that nothing can end."""
    idle: int | None = None
    """An action that changes nothing, played while blue is held; None: there is none."""
    notes: NotesModel | None = None
    """How observations and actions follow from plain ones; None: they are the plain ones."""

    @property
    def fix_unit(self) -> tuple[int, ...]:
        """For each action the unit type it fixes, or -1 if it is not a fix action."""
        return tuple(-1 if host < 0 else self.host_unit[host] for host in self.fix_host)


@dataclass(frozen=True)
class EnvInfo:
    """The shape of an environment, as `Collector.open` reports it."""

    obs_shape: tuple[int, ...]
    obs_dtype: str
    num_actions: int
    workflow: WorkflowModel | None = None
    batched: bool = False
    """Whether the collector steps the environment's batched form."""
    unbounded: bool = False
    """Whether the observation space has an infinite bound, so that infinities are valid in it."""


class CompiledStep(NamedTuple):
    """The step of a `BatchEnv` whose episodes never terminate, for callers that are compiled."""

    function: Any
    """A function compiled by numba for one signature, which returns an integer.

    It takes `context`, the actions and the arrays of `StepArrays` except `terminated`, all
    contiguous; it may rely on their sizes and on the actions being legal. It raises nothing.
    """
    context: tuple[Any, ...]


class BatchEnv(Protocol):
    """Many environments stepped together. Rows are independent; a row that ended resets at once."""

    @property
    def num_envs(self) -> int:
        """The number of environments."""

    @property
    def info(self) -> EnvInfo:
        """Shapes and workflow model."""

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[Any]) -> None:
        """Start row i's stream of episodes from seeds[i] and write the first observations."""

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Apply one action per row. Releases the GIL while it computes."""

    def close(self) -> None:
        """Release what the environments hold; safe to call twice."""
