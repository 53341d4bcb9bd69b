"""Several searches side by side: every combination with the same seeds, taking turns."""

from __future__ import annotations

from collections.abc import Sequence

from .loop import Search


def run_interleaved(searches: Sequence[Search]) -> None:
    """Run all to their end, one workflow of each in turn.

    Whoever comes first changes from round to round, so that what slows the machine down for a while
    slows all of them alike.
    """
    for search in searches:
        search.begin()
    turn = 0
    while any(not search.ended for search in searches):
        for offset in range(len(searches)):
            searches[(turn + offset) % len(searches)].step()
        turn += 1
