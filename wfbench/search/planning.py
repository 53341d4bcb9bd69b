"""From a configuration to jobs, and from a stored run back to its job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from wfbench import values
from wfbench.config import SETTINGS, RunConfig
from wfbench.contract import UsageError
from wfbench.layers import Effective
from wfbench.plugins import PluginHost
from wfbench.selection import Choice, parse_selector, select

from .job import SearchJob, stored_options

KINDS = ("env", "collector", "trainer", "searcher")


def plan_jobs(
    config: RunConfig, chosen: Mapping[str, Sequence[Choice]], width: int = 1
) -> list[SearchJob]:
    """One job for every combination of the selected collectors, trainers and seeds.

    `width` is how many orders the executor trains at a time.
    """
    [env], [searcher] = chosen["env"], chosen["searcher"]
    seeds = range(config.seed, config.seed + config.seeds)
    cells = list(product(chosen["collector"], chosen["trainer"], seeds))
    batch = _batch(config, searcher, width, len(cells))
    each = replace(config, seeds=1, batch=batch, executor=chosen["executor"][0].label)
    jobs = [
        SearchJob(replace(each, seed=seed), env, collector, trainer, searcher)
        for collector, trainer, seed in cells
    ]
    # What is misspelt is found before anything is written.
    _ = jobs[0].score, jobs[0].definition
    return jobs


def _batch(config: RunConfig, searcher: Choice, width: int, searches: int) -> int:
    """How many orders each of the searches asks at a time."""
    if "batches" not in searcher.spec.capabilities:
        if config.batch > 1:
            raise UsageError(
                f"batch is {config.batch}, but searcher {searcher.spec.name!r} asks for one order "
                "at a time"
            )
        return 1
    return config.batch or -(-width // searches)


def stored_config(job: SearchJob, run: str, created: str, *, smoke: bool) -> dict[str, Any]:
    """What `config.json` holds: enough to run the same job again."""
    settings = {s.key: getattr(job.config, name) for name, s in SETTINGS.items()}
    return {
        "run": run,
        "created": created,
        "smoke": smoke,
        "settings": settings,
        "plugins": job.described(),
        "units": list(job.model.units),
        "episode_steps": job.episode_steps,
        "definition": job.definition.id,
        "beside": job.beside.id,
    }


def restored_job(host: PluginHost, stored: Mapping[str, Any]) -> SearchJob:
    """The job of a stored run, with the plugins of this installation."""
    chosen = {}
    for kind in KINDS:
        plugin = stored["plugins"][kind]
        options = {plugin["name"]: stored_options(plugin["options"])}
        [chosen[kind]] = select(host, {kind: [plugin["name"]]}, options)[kind]
    # A later version may mean another definition by the same name; a run keeps its own.
    config = replace(restored_settings(stored), definition=stored["definition"])
    return SearchJob(config, *(chosen[kind] for kind in KINDS))


def restored_settings(stored: Mapping[str, Any]) -> RunConfig:
    """The settings of a stored run; what a later version added has its default."""
    given = {}
    for name, setting in SETTINGS.items():
        if setting.key not in stored["settings"]:
            continue
        try:
            given[name] = values.from_data(setting.hint, stored["settings"][setting.key])
        except ValueError as error:
            raise UsageError(f"run {stored['run']}: its setting {setting.key}: {error}") from error
    return RunConfig(**given)


def restored_executor(host: PluginHost, effective: Effective, stored: Mapping[str, Any]) -> Choice:
    """The executor that is asked for, or else the one that a stored run was started with."""
    selector = restored_settings(stored).executor
    if "executor" in effective.sources:
        selector = effective.config.executor
    name = parse_selector(selector)[0]
    options = {name: effective.options[name]} if name in effective.options else {}
    [choice] = select(host, {"executor": [selector]}, options)["executor"]
    return choice


def refuse_contradiction(effective: Effective, cells: Sequence[Mapping[str, Any]]) -> None:
    """A resumed run keeps its settings but the executor; whoever asks for others is told so."""
    stored = cells[0]
    seeds = len({cell["settings"]["seed"] for cell in cells})
    kept = replace(restored_settings(stored), seeds=seeds)
    for name, source in effective.sources.items():
        if name == "executor":
            continue  # where orders are trained changes nothing; how many at a time would
        asked, was = getattr(effective.config, name), getattr(kept, name)
        if asked != was and not source.startswith("preset "):
            raise UsageError(
                f"{SETTINGS[name].key} is set to {values.to_text(asked)} ({source}), but run "
                f"{stored['run']} was started with {values.to_text(was)}; a resumed run keeps its "
                "settings, so leave it out or start a new run"
            )
    options = {
        plugin["name"]: plugin["options"] for cell in cells for plugin in cell["plugins"].values()
    }
    executor = parse_selector(effective.config.executor)[0]
    for plugin, given in effective.options.items():
        if plugin == executor and plugin not in options:
            continue
        for key, value in given.items():
            was = options.get(plugin, {}).get(key)
            if values.to_text(value) != values.to_text(was):
                raise UsageError(
                    f"{plugin}.{key} is set to {value}, but run {stored['run']} was started with "
                    f"{was}; a resumed run keeps its settings"
                )
