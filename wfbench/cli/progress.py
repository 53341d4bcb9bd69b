"""Progress of a long call on standard error: a bar on a terminal, else line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from wfbench.api.results import Progress, Watcher


@contextmanager
def progress_lines(*, bar_only: bool = False) -> Iterator[Watcher]:
    """Show every step until the block ends; `bar_only`: nothing where there is no terminal."""
    if not sys.stderr.isatty():
        yield _ignore if bar_only else _print
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True, emoji=False), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def update(step: Progress) -> None:
            bar.update(task, completed=step.done, total=step.total, description=escape(step.text))

        yield update


def _print(step: Progress) -> None:
    sys.stderr.write(step.text + "\n")
    sys.stderr.flush()


def _ignore(_: Progress) -> None:
    pass
