"""What this plugin offers."""

from __future__ import annotations

from dataclasses import dataclass, field

from wfbench.contract import CollectorSpec, hookimpl


@dataclass(frozen=True)
class Options:
    """Set by `--collector threads:threads=4`."""

    threads: int = field(default=2, metadata={"help": "threads that step environments"})


@hookimpl
def wfbench_collectors() -> list[CollectorSpec]:
    """Offer the collector `threads`."""
    return [
        CollectorSpec(
            name="threads",
            summary="Steps environments in threads that share the GIL",
            factory="wfbench_threads.collector:ThreadsCollector",
            options=Options,
            capabilities=frozenset({"deterministic"}),
        )
    ]
