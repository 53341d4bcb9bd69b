"""The verbs of wfbench: where each lives and what it does.

A verb is added with one line here and one file beside this one that holds its Typer `app`. The
file is imported only when the verb is used, so help and completion stay fast whatever it needs.
"""

from __future__ import annotations

VERBS: dict[str, tuple[str, str]] = {
    "plugins": ("wfbench.cli.plugins:app", "List, inspect, check and create plugins."),
}
