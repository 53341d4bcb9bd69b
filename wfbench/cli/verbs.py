"""The verbs of wfbench: where each lives and what it does.

A verb is added with one line here and one file beside this one that holds its Typer `app`. The
file is imported only when the verb is used, so help and completion stay fast whatever it needs.
"""

from __future__ import annotations

Verbs = dict[str, tuple[str, str]]
"""By name: the import path of a Typer app or of a function, and one line for the help."""

VERBS: Verbs = {
    "run": ("wfbench.cli.run:app", "Search for the best order and the policy that follows it."),
    "bench": ("wfbench.cli.bench:app", "Measure how fast collectors are on an environment."),
    "evaluate": ("wfbench.cli.evaluate:app", "Play a frozen policy on fresh seeds."),
    "landscape": ("wfbench.cli.landscape:app", "Make a landscape of runs that trained orders."),
    "bench-search": ("wfbench.cli.bench_search:app", "Compare searchers on a landscape."),
    "config": ("wfbench.cli.config:app", "Print the run configuration and what changed it."),
    "plugins": ("wfbench.cli.plugins:app", "List, inspect, check and create plugins."),
    "doctor": ("wfbench.cli.doctor:app", "Check this machine and mend what is safe to mend."),
}
