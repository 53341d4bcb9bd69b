"""Blue's notes and macros: how a richer form of an environment follows from its plain one.

`wfbench.policies.notes` keeps the notes. This is data without code, so that a workflow model can
carry it and an exported policy can take it along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class DecoyAction(NamedTuple):
    """An action that plants a decoy, which stands until its host is restored."""

    action: int
    host: int
    needs: int
    """Port that must be free: no standing decoy of the host has opened it."""
    opens: int
    """Port that it opens."""


@dataclass(frozen=True)
class NotesModel:
    """What blue can work out from its observations and its own actions alone.

    A plain observation has four features per host; the first tells that the host showed activity,
    the second that it was an exploit.
    """

    actions: tuple[int, ...]
    """What each action means: one of the plain environment, or -1 - h for the most preferred decoy
    that host h can still have."""
    memory: bool
    """Whether the notes are appended to the observation."""
    restores: tuple[int, ...]
    """The plain action that restores each host."""
    watched: int
    """The host of which it is noted whether it was ever restored."""
    decoys: tuple[DecoyAction, ...]
    """Every decoy that can ever be planted; the notes have a feature for each."""
    preferred: tuple[int, ...]
    """Places in `decoys`, the most preferred first; macros plant no others."""
    otherwise: int
    """The plain action of a macro when its host can have no further decoy."""
    steps: int
    """The notes tell so many first steps of an episode apart."""
    history: bool = False
    """Whether the notes go on with the past: the decoys that stood at a host's first alarm, hosts
    ever alarmed, hosts scanned again since their last restore, the alarm before the last, whether
    the last two were exploits, the steps since the last, and the period of the episode."""
    quiet: int = 4
    """The history tells so many numbers of steps since the last alarm apart."""
    periods: int = 10
    """The history tells so many periods of an episode apart."""
    period_steps: int = 10
    """Steps of a period."""

    @property
    def size(self) -> int:
        """How many features are appended to the observation."""
        if not self.memory:
            return 0
        places = len(self.decoys) + 2 * len(self.restores)
        size = places + 1 + self.steps
        if self.history:
            size += places + len(self.restores) + 2 + self.quiet + self.periods
        return size
