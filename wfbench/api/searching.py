"""`wfbench.run` and `wfbench.resume`: search for the best order and the policy that follows it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from wfbench.api.hosting import plugin_host
from wfbench.api.results import Options, Progress, Result, Values, Watcher, as_list
from wfbench.api.runs import Matrix, Run, write_report
from wfbench.collecting.keeping import keep_open
from wfbench.contract import Executor, UsageError
from wfbench.report.document import Section
from wfbench.report.run_plan import RunPlan
from wfbench.report.sections.settings import config_data, config_section
from wfbench.search.compiling_beside import compiled_beside
from wfbench.search.engine import run_searches
from wfbench.search.hooks import HookObserver
from wfbench.search.job import SearchJob
from wfbench.search.launching import resumed, started
from wfbench.search.planning import plan_jobs, restored_executor
from wfbench.search.preparing import prepare
from wfbench.search.recording import Observer
from wfbench.search.search import Search
from wfbench.settings import sources
from wfbench.settings.config import SETTINGS
from wfbench.settings.selection import Choice
from wfbench.store.places import DEFAULT, find_run
from wfbench.store.run import RunStore


class ConfigResult(Result, schema="config/1"):
    """The configuration of a run, and which source set what."""

    resolved: sources.ResolvedConfig
    chosen: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)
    """The selected plugins by kind, if they were asked for."""

    def _values(self) -> Values:
        return config_data(self.resolved, self.chosen)

    def _sections(self) -> Sequence[Section]:
        return [config_section(self.resolved, self.chosen)]


class RunSettings(TypedDict, total=False):
    """The settings of a search; `wfbench run --help` says what each means and its default."""

    training: str
    env: str
    collector: str | Sequence[str]
    trainer: str | Sequence[str]
    searcher: str
    n_envs: int
    joint_episodes: int
    specialise: int
    eval_episodes: int
    stress: int
    free: int
    workflows: int
    max_episodes: int
    min_episodes: int
    update_every: int
    threshold: float
    lambda_: float
    lambda_end: float
    lambda_special: float
    beta: float
    gamma: float
    epochs: int
    lr: float
    clip: float
    red: str
    definition: str
    no_fix: float
    inherit: str
    score: str
    stop: str
    patience: int
    total_episodes: int
    max_seconds: float
    device: str
    seed: int
    seeds: int
    executor: str
    batch: int


def run(
    *,
    preset: str | None = None,
    config: str | Path | None = None,
    options: Options | None = None,
    out: str | Path = DEFAULT,
    name: str | None = None,
    smoke: bool = False,
    progress: Watcher | None = None,
    **settings: Unpack[RunSettings],
) -> Run | Matrix:
    """Search for the best order and the policy that follows it.

    preset: a documented configuration, such as "documented-200" or "best".
    config: a TOML file with settings. Arguments win over WFBENCH_RUN_* variables, those over the
        file, the file over the preset.
    options: options of plugins, by plugin name: {"shm": {"workers": 2}}.
    out, name: the run is kept in OUT/NAME; the default name is the date and time.
    smoke: a tiny run that shows whether everything works.
    progress: called with a Progress after every event.
    settings: what `wfbench run --help` lists, such as env, collector, trainer, searcher, n_envs,
        specialise, max_episodes, red, seed, seeds and executor.

    Several collectors or trainers give a Matrix of runs, and so do several seeds with one training
    per order. Else the result is a Run.

    Example: wfbench.run(specialise=1, n_envs=50, seed=1).best
    """
    resolved = resolve_settings(settings, preset, config, options, smoke=smoke)
    return run_resolved(resolved, out=Path(out), name=name, smoke=smoke, progress=progress)


def resume(
    run: str | Path,
    *,
    options: Options | None = None,
    out: str | Path = DEFAULT,
    progress: Watcher | None = None,
    **settings: Unpack[RunSettings],
) -> Run | Matrix:
    """Finish a run that was interrupted; the result is as if it had not been.

    run: its name in `out`, or its path. A resumed run keeps its settings; only the executor may
        be another one.

    Example: wfbench.resume("20260101-120000-abcd")
    """
    resolved = resolve_settings(settings, None, None, options)
    return resume_resolved(resolved, find_run(Path(out), str(run)), progress)


def resolve_settings(
    settings: Mapping[str, Any],
    preset: str | None,
    config: str | Path | None,
    options: Options | None,
    *,
    smoke: bool = False,
    source: str = "arguments",
) -> sources.ResolvedConfig:
    """Return the configuration that preset, file, environment and arguments add up to."""
    if smoke and preset is not None:
        raise UsageError("--smoke is a preset of its own; leave --preset out")
    layers = [] if config is None else [sources.read_file(Path(config))]
    layers.append(sources.read_environment(os.environ))
    given = {name: _typed(name, value) for name, value in settings.items()}
    layers.append(sources.ConfigSource(source, given, options or {}, "smoke" if smoke else preset))
    return sources.resolve(layers)


def explain_config(resolved: sources.ResolvedConfig, *, check: bool = False) -> ConfigResult:
    """Return a configuration with its sources; `check`: also select the plugins."""
    return ConfigResult(resolved, sources.select_run(plugin_host(), resolved) if check else {})


def run_resolved(
    resolved: sources.ResolvedConfig,
    *,
    out: Path = DEFAULT,
    name: str | None = None,
    smoke: bool = False,
    progress: Watcher | None = None,
) -> Run | Matrix:
    """Run a search whose configuration is resolved already."""
    chosen = sources.select_run(plugin_host(), resolved)
    executor = chosen["executor"][0].build()
    watch = _Watch(progress)
    with closing(executor), keep_open():
        prepare(executor, resolved.config, chosen)
        with compiled_beside(chosen["trainer"][0]):
            jobs = plan_jobs(resolved.config, chosen)
            opened = started(jobs, out, name, watch.observers, smoke=smoke, width=executor.width)
            return _searched(opened, executor, watch)


def resume_resolved(
    resolved: sources.ResolvedConfig, path: Path, progress: Watcher | None = None
) -> Run | Matrix:
    """Finish the run at `path`."""
    host, watch = plugin_host(), _Watch(progress)
    executor = restored_executor(host, path, resolved).build()
    with closing(executor):
        return _searched(resumed(host, path, resolved, watch.observers), executor, watch)


def _searched(
    opened: AbstractContextManager[Sequence[Search]], executor: Executor, watch: _Watch
) -> Run | Matrix:
    with opened as searches:
        path = searches[0].store.path if len(searches) == 1 else searches[0].store.path.parent
        with watch.resumable(path):
            run_searches(searches, executor)
        runs = tuple(Run(search.store.path, search.recorded()) for search in searches)
    report, problem = write_report(path)
    if len(runs) == 1:
        return replace(runs[0], report_path=report, problem=problem)
    return Matrix(path, runs, executor.in_process, report, problem)


class _Watch:
    """Passes events on to the plugins that observe, and to whoever wants to see progress."""

    def __init__(self, progress: Watcher | None) -> None:
        self._progress = progress or (lambda _: None)
        self._hooks: list[HookObserver] = []
        self._done = 0
        self._total = 0

    def observers(self, job: SearchJob, store: RunStore) -> Sequence[Observer]:
        """Return the observers of one search."""
        hooks = HookObserver(plugin_host(), store.id, store.path)
        self._hooks.append(hooks)
        self._total += job.workflows

        plan = RunPlan()

        def observe(event: Mapping[str, Any]) -> None:
            nonlocal plan
            if event["event"] in {"run-started", "run-resumed"}:
                plan = RunPlan.of(event)
            self._done += event["event"] == "workflow-finished"
            what = plan.label(event) if "order" in event else ""
            text = f"{store.id}: {event['event']} {what}".rstrip()
            self._progress(Progress(self._done, self._total, text, {**event, "run": store.id}))

        return observe, hooks

    @contextmanager
    def resumable(self, path: Path) -> Iterator[None]:
        """Whatever ends the run early, tell the plugins, and note how to resume it."""
        try:
            yield
        except BaseException as error:
            for hooks in self._hooks:
                hooks.stopped(str(error) or type(error).__name__)
            if not isinstance(error, UsageError):  # which would come again
                error.add_note(f"resume with: wfbench run --resume {path}")
            raise


def _typed(name: str, value: Any) -> Any:
    """Return an argument as the configuration takes it."""
    if name not in SETTINGS:
        raise UsageError(f"there is no setting {name!r}; there are {', '.join(SETTINGS)}")
    setting = SETTINGS[name]
    return setting.typed(as_list(value) if setting.hint == tuple[str, ...] else value, name)
