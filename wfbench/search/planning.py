"""From a configuration to jobs, and from a stored run back to its job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError
from wfbench.host import values
from wfbench.host.manager import PluginHost
from wfbench.host.options import completed_options, resolve_options
from wfbench.settings.config import PER_ORDER, SETTINGS, RunConfig
from wfbench.settings.selection import Choice, parse_selector, select
from wfbench.settings.sources import ResolvedConfig
from wfbench.store.config import StoredConfig, StoredPlugin, read_config, search_paths

from .job import SearchJob, stored_options

KINDS = ("env", "collector", "trainer", "searcher")


def plan_jobs(config: RunConfig, chosen: Mapping[str, Sequence[Choice]]) -> list[SearchJob]:
    """Return one job for every combination of the selected collectors, trainers and seeds."""
    [env], [searcher] = chosen["env"], chosen["searcher"]
    batches = "batches" in searcher.spec.capabilities
    if config.batch > 1 and not batches:
        name = searcher.spec.name
        raise UsageError(
            f"batch is {config.batch}, but searcher {name!r} asks for one order at a time"
        )
    batch = config.batch if batches else 1
    each = replace(config, batch=batch, executor=chosen["executor"][0].label)
    seeds = range(config.seed, config.seed + (1 if config.joint else config.training_seeds))
    if not config.joint:
        each = replace(each, seeds=1)
    jobs = [
        SearchJob(replace(each, seed=seed), env, collector, trainer, searcher)
        for collector, trainer, seed in product(chosen["collector"], chosen["trainer"], seeds)
    ]
    # Misspelt settings are reported before anything is written.
    _ = jobs[0].score, jobs[0].definition
    if config.joint:
        _ = jobs[0].drawn_orders
    return jobs


def stored_config(job: SearchJob, run: str, created: str, *, smoke: bool) -> StoredConfig:
    """Return what `config.json` holds: enough to run the same job again."""
    chosen = {kind: getattr(job, kind) for kind in KINDS}
    return StoredConfig(
        run=run,
        created=created,
        smoke=smoke,
        settings={s.key: getattr(job.config, name) for name, s in SETTINGS.items()},
        plugins={
            kind: StoredPlugin(one.spec.name, one.label, dict(one.options), str(one.offer.source))
            for kind, one in chosen.items()
        },
        units=job.model.units,
        episode_steps=job.episode_steps,
        **job.definitions,
    )


def restored_job(host: PluginHost, stored: StoredConfig) -> SearchJob:
    """Return the job of a stored run, with the plugins of this installation."""
    chosen = [restored_choice(host, kind, stored.plugins[kind]) for kind in KINDS]
    # A later version may mean another definition by the same name; a run keeps its own.
    config = replace(restored_settings(stored), definition=stored.definition)
    return SearchJob(config, *chosen)


def restored_choice(host: PluginHost, kind: str, plugin: StoredPlugin) -> Choice:
    """Return a plugin of this installation with the options of a stored run."""
    [choice] = select(host, {kind: [plugin.name]})[kind]
    options = stored_options(completed_options(choice.spec, plugin.options))
    return replace(choice, options=resolve_options(choice.spec, options))


def restored_settings(stored: StoredConfig) -> RunConfig:
    """Return the settings of a stored run; those that a later version added have their default."""
    # 0.1.0 knew one kind of training.
    given: dict[str, Any] = {"training": PER_ORDER}
    for name, setting in SETTINGS.items():
        try:
            if setting.key in stored.settings:
                given[name] = values.from_data(setting.hint, stored.settings[setting.key])
        except ValueError as error:
            raise UsageError(f"run {stored.run}: its setting {setting.key}: {error}") from error
    return RunConfig(**given)


def restored_executor(host: PluginHost, path: Path, resolved: ResolvedConfig) -> Choice:
    """Return the executor asked for, or else the one that the run at `path` started with."""
    selector = restored_settings(read_config(search_paths(path)[0])).executor
    if "executor" in resolved.sources:
        selector = resolved.config.executor
    name = parse_selector(selector)[0]
    options = {name: resolved.options[name]} if name in resolved.options else {}
    [choice] = select(host, {"executor": [selector]}, options)["executor"]
    return choice


def refuse_contradiction(
    host: PluginHost, resolved: ResolvedConfig, searches: Sequence[StoredConfig]
) -> None:
    """Raise a usage error if a resumed run is asked for other settings than it started with."""
    stored = searches[0]
    kept = restored_settings(stored)
    searched = len({one.settings["seed"] for one in searches})
    kept = replace(kept, seeds=kept.training_seeds if kept.joint else searched)
    for name, source in resolved.sources.items():
        if name == "executor":
            continue  # where orders are trained does not change the result
        asked, was = getattr(resolved.config, name), getattr(kept, name)
        if asked != was and not source.startswith("preset "):
            raise UsageError(
                f"{SETTINGS[name].key} is set to {values.to_text(asked)} ({source}), but run "
                f"{stored.run} was started with {values.to_text(was)}; a resumed run keeps its "
                "settings, so leave it out or start a new run"
            )
    options = {
        plugin.name: restored_choice(host, kind, plugin).options
        for one in searches
        for kind, plugin in one.plugins.items()
    }
    executor = parse_selector(resolved.config.executor)[0]
    for plugin, given in resolved.options.items():
        if plugin == executor and plugin not in options:
            continue
        for key, value in given.items():
            asked, was = values.to_text(value), values.to_text(options.get(plugin, {}).get(key))
            if asked != was:
                raise UsageError(
                    f"{plugin}.{key} is set to {asked}, but run {stored.run} was started with "
                    f"{was}; a resumed run keeps its settings"
                )
