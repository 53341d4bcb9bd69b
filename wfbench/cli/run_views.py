"""How a run is shown while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from wfbench.api.results import Progress, Watcher
from wfbench.report.console import console
from wfbench.report.run_lines import JsonLines, PlainLines

Observer = Callable[[Mapping[str, Any]], None]


@contextmanager
def choose_view(*, quiet: bool, json_lines: bool) -> Iterator[Watcher | None]:
    """Show the run as the flags and the kind of output ask for, until the block ends."""
    if json_lines:
        yield _by_run(JsonLines)
    elif quiet:
        yield None
    elif console().is_terminal:
        from wfbench.report.run_live import LiveView

        live = LiveView()
        with live.showing(console()):
            yield _by_run(live.watch)
    else:
        yield _by_run(lambda run: PlainLines(run.partition("/")[2]))


def _by_run(make: Callable[[str], Observer]) -> Watcher:
    """Give each search of the run an observer of its own."""
    observers: dict[str, Observer] = {}

    def watch(step: Progress) -> None:
        run = step.value["run"]
        if run not in observers:
            observers[run] = make(run)
        observers[run](step.value)

    return watch
