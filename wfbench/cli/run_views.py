"""How a run is shown while it goes on, and at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from wfbench.plugins import PluginHost
from wfbench.report.console import console, print_json
from wfbench.report.run_lines import JsonLines, PlainLines
from wfbench.report.run_summary import show_matrix, show_summary, summary_json
from wfbench.search.hooks import HookObserver
from wfbench.search.job import SearchJob
from wfbench.search.loop import Observer, Search
from wfbench.store.event_log import plain
from wfbench.store.run import RunStore

Watch = Callable[[SearchJob, str], Observer | None]


class RunView:
    """Makes the observers of every search of a run."""

    def __init__(self, host: PluginHost, watch: Watch) -> None:
        self._host = host
        self._watch = watch
        self._hooks: list[HookObserver] = []

    def observers(self, job: SearchJob, store: RunStore) -> Sequence[Observer]:
        """Plugins that observe, and whatever shows the run."""
        hooks = HookObserver(self._host, store.id, store.path)
        self._hooks.append(hooks)
        watcher = self._watch(job, store.id)
        return (hooks,) if watcher is None else (watcher, hooks)

    @contextmanager
    def showing(self) -> Iterator[None]:
        """While the searches run."""
        yield

    def stopped(self, cause: str) -> None:
        """The run ended before its end."""
        for hooks in self._hooks:
            hooks.stopped(cause)


class LiveRunView(RunView):
    """A view that is drawn again and again."""

    def __init__(self, host: PluginHost) -> None:
        from wfbench.report.run_live import LiveView

        live = LiveView()
        super().__init__(host, lambda job, run: live.watch(_title(job, run)))
        self._live = live

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Draw while the searches run."""
        with self._live.showing(console()):
            yield


def chosen_view(host: PluginHost, *, quiet: bool, json_lines: bool) -> RunView:
    """The view that fits the flags and where the output goes."""
    if json_lines:
        return RunView(host, lambda _, run: JsonLines(run))
    if quiet:
        return RunView(host, lambda _job, _run: None)
    if console().is_terminal:
        return LiveRunView(host)
    return RunView(host, lambda _, run: PlainLines(run.partition("/")[2]))


def _title(job: SearchJob, run: str) -> str:
    parts = (job.env.label, job.collector.label, job.trainer.label, job.searcher.label)
    return f"{run}: {', '.join(parts)}, seed {job.config.seed}"


def present(
    searches: Sequence[Search],
    report: Callable[[], Path | None],
    *,
    as_json: bool,
    silent: bool,
    alone: bool,
) -> None:
    """The end of a run; `alone`: what was timed never ran beside anything else of it."""
    if as_json:
        runs = [summary_json(search) for search in searches]
        written = report()
        values = {"runs": runs, "timing_comparable": alone}
        print_json("run/1", plain(values | {"report": None if written is None else str(written)}))
        sys.stdout.flush()
        return
    if not silent and len(searches) > 1:
        show_matrix(searches, alone=alone)
    elif not silent:
        show_summary(searches[0])
    sys.stdout.flush()
    written = report()
    if written is not None and not silent:
        console().print(f"report: {written}", soft_wrap=True)
    sys.stdout.flush()
