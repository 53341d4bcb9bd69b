"""Which collector steps what, and whether it stays open afterwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wfbench.collecting.in_process import InProcessCollector
from wfbench.collecting.keeping import KeptCollector
from wfbench.contract import Collector, EnvRef
from wfbench.settings.selection import Choice


def build_collector(chosen: Choice) -> Collector:
    """Return the chosen collector; one that can be reset takes over an open one of its kind."""
    if "reset" in chosen.spec.capabilities:
        return KeptCollector(chosen.build, chosen.label)
    collector: Collector = chosen.build()
    return collector


def sweep_collector(ref: EnvRef, chosen: Choice) -> Callable[[], Collector]:
    """Return what steps a sweep: the chosen collector only where its processes are worth it.

    One without a step barrier would play on in some environments and starve others.
    """
    here = ref.batched is not None or "deterministic" not in chosen.spec.capabilities
    return InProcessCollector if here else partial(build_collector, chosen)
