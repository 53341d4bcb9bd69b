"""The bundled searchers."""

from __future__ import annotations

from wfbench.contract import SearcherSpec, hookimpl

from .options import GivenOptions, GpUcbOptions, HalvingOptions

_BATCHES = frozenset({"batches"})


@hookimpl
def wfbench_searchers() -> list[SearcherSpec]:
    """Return the bundled searchers."""
    return [
        SearcherSpec(
            name="gp-ucb",
            summary="Gaussian process over all orders; asks where the best may be",
            factory="wfbench_searchers.gp_ucb:GpUcb",
            capabilities=_BATCHES,
            options=GpUcbOptions,
            positional="beta",
        ),
        SearcherSpec(
            name="random",
            summary="Every order once in a drawn sequence, then again in another",
            factory="wfbench_searchers.sweeps:RandomSweep",
            capabilities=_BATCHES,
        ),
        SearcherSpec(
            name="exhaustive",
            summary="Every order by index, then again",
            factory="wfbench_searchers.sweeps:Exhaustive",
            capabilities=_BATCHES,
        ),
        SearcherSpec(
            name="given",
            summary="The orders you name, in turn: given:SEUHD+DESHU",
            factory="wfbench_searchers.sweeps:Given",
            capabilities=_BATCHES,
            options=GivenOptions,
            positional="orders",
        ),
        SearcherSpec(
            name="halving",
            summary="Many orders on a small budget, the better ones on more",
            factory="wfbench_searchers.halving:Halving",
            capabilities=_BATCHES,
            options=HalvingOptions,
            positional="orders",
        ),
    ]
