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
    "compare": (
        "wfbench.cli.compare:app",
        "Compare two results, with the uncertainty of each change.",
    ),
    "check": ("wfbench.cli.check:app", "Measure a baseline's cases again; fail if one got slower."),
    "baseline": ("wfbench.cli.baseline:app", "Keep measured runs for check to compare with."),
    "calibrate": ("wfbench.cli.calibrate:app", "Measure how noisy this machine is."),
    "report": ("wfbench.cli.report:app", "Show what runs found, as a page, a comment or a table."),
    "runs": ("wfbench.cli.runs:app", "List, show, follow, remove and validate runs."),
    "evaluate": ("wfbench.cli.evaluate:app", "Play a frozen policy on fresh seeds."),
    "landscape": ("wfbench.cli.landscape:app", "Collect the results of training every order."),
    "bench-search": ("wfbench.cli.bench_search:app", "Compare searchers on a landscape."),
    "reproduce": ("wfbench.cli.reproduce:app", "Test the documented claims by measuring them."),
    "config": ("wfbench.cli.config:app", "Print the run configuration and what changed it."),
    "plugins": ("wfbench.cli.plugins:app", "List, inspect, check and create plugins."),
    "doctor": ("wfbench.cli.doctor:app", "Check this machine and fix what is safe to fix."),
}
