"""The record of a step. `StepRecord` declares it; every array, layout and message follows from it.

To add something, declare a field in `StepRecord`. Its annotation is the type of one value, or Any
for an observation. A scalar environment gives it in the `info` of a step under the key that the
field's metadata name; it is 0 where that key is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .env import EnvInfo


@dataclass(frozen=True)
class StepRecord:
    """What every step leaves, as arrays with one entry per environment."""

    obs: NDArray[Any]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_obs: NDArray[Any]
    """The last observations of episodes; nothing where no episode ended."""
    compromised: NDArray[np.uint32] = field(metadata={"info": "compromised_hosts"})
    """Bit mask of the hosts compromised before the action; 0 without a workflow model."""
    ended_session: NDArray[np.bool_] = field(metadata={"info": "ended_session"})
    """Whether the action ended an intruder's session."""

    @property
    def ended(self) -> NDArray[np.bool_]:
        """Return where an episode ended, for either reason."""
        return self.terminated | self.truncated


STEP_FIELDS = tuple(found.name for found in fields(StepRecord))
"""Names of the arrays of a step."""

PLAIN_FIELDS = tuple(name for name in STEP_FIELDS if name != "final_obs")
"""Those that every step writes in every row."""

INFO_FIELDS = {f.name: f.metadata["info"] for f in fields(StepRecord) if f.metadata}
"""Those that scalar environments give in `info`, with the key there."""


@dataclass(frozen=True)
class StepArrays(StepRecord):
    """Caller-owned arrays that one batched step writes, all of length num_envs.

    `obs` is the observation to act on next: where an episode ended, the first one of the next.
    `final_obs` is written only in rows where an episode ended.
    """

    @classmethod
    def allocate(cls, num_envs: int, info: EnvInfo) -> StepArrays:
        """Return new arrays for so many environments."""
        shapes = array_shapes(cls, (num_envs,), info)
        return cls(**{name: np.zeros(*shape) for name, shape in shapes.items()})

    @classmethod
    def among(cls, arrays: Mapping[str, NDArray[Any]]) -> StepArrays:
        """Return those of these arrays that make up a step."""
        return cls(*[arrays[name] for name in STEP_FIELDS])

    def rows(self, rows: Any) -> StepArrays:
        """Return views of some rows, by any index that does not copy."""
        return StepArrays(*[getattr(self, name)[rows] for name in STEP_FIELDS])

    def write(self, source: StepRecord) -> None:
        """Copy a step of as many environments; final observations only where episodes ended."""
        for name in PLAIN_FIELDS:
            getattr(self, name)[...] = getattr(source, name)
        ended = source.ended
        if ended.any():
            self.final_obs[ended] = source.final_obs[ended]


def array_shapes(
    record: type, lead: tuple[int, ...], info: EnvInfo
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and type of each array of a record, `lead` being its leading dimensions."""
    obs = (*lead, *info.obs_shape), info.obs_dtype
    return {
        name: obs if kind is Any else (lead, np.dtype(kind).str)
        for name, kind in _element_types(record).items()
    }


@cache
def _element_types(record: type) -> dict[str, Any]:
    """Return what each array holds, by its annotation; Any stands for an observation."""
    return {name: get_args(get_args(hint)[1])[0] for name, hint in get_type_hints(record).items()}


INFO_TYPES: dict[str, Any] = {
    key: _element_types(StepRecord)[name] for name, key in INFO_FIELDS.items()
}
"""What scalar environments give in `info`: by key, the type of one value."""
