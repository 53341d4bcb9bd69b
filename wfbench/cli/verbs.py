"""The verbs of wfbench: where each lives and what it does.

A verb is added with one line here and a function with the decorator `verb` in a file beside this
one. The file is imported only when the verb is used, so help and completion stay fast.
"""

from __future__ import annotations

Verbs = dict[str, tuple[str, str]]
"""By name: a Typer app or a function of a module beside this one, and one line for the help."""

VERBS: Verbs = {
    "run": ("run:run_app", "Search for the best order and the policy that follows it."),
    "bench": ("measuring:bench", "Measure how fast collectors are on an environment."),
    "compare": ("gating:compare", "Compare two results, with the uncertainty of each change."),
    "check": ("gating:check", "Fail if something got slower than a baseline or revision."),
    "bisect": ("gating:bisect", "Name the commit from which on a collector is slow."),
    "baseline": ("gating:app", "Keep measured runs for check to compare with."),
    "calibrate": ("gating:calibrate", "Measure how noisy this machine is."),
    "report": ("runs:report", "Show what runs found, as a page, a comment or a table."),
    "runs": ("runs:app", "List, show, follow, remove and validate runs."),
    "evaluate": ("measuring:evaluate", "Play a frozen policy on fresh seeds."),
    "verify-transfer": (
        "measuring:verify_transfer",
        "Compare a policy in two environments, cell by cell.",
    ),
    "board": ("measuring:board", "Rank policies, reference rules and published results."),
    "export": ("measuring:export", "Write a policy in a form that needs no wfbench."),
    "landscape": ("measuring:landscape", "Collect the results of training every order."),
    "bench-search": ("measuring:bench_search", "Compare searchers on a landscape."),
    "reproduce": ("measuring:reproduce", "Test the documented claims by measuring them."),
    "config": ("run:config_app", "Print the run configuration and what changed it."),
    "plugins": ("plugins:app", "List, inspect, check and create plugins."),
    "doctor": ("plugins:doctor", "Check this machine and fix what is safe to fix."),
}
