"""Spending time on purpose."""

from __future__ import annotations

import time


def spend(seconds: float, *, busy: bool) -> None:
    """Use `seconds` of this thread's CPU time, or sleep as long.

    Busy time is CPU time, not wall time: when cores are short it takes longer, as real work would.
    """
    if seconds <= 0:
        return
    if not busy:
        time.sleep(seconds)
        return
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
