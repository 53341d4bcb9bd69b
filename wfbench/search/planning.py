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
from wfbench.selection import Choice, select

from .job import SearchJob, stored_options

KINDS = ("env", "collector", "trainer", "searcher")


def plan_jobs(config: RunConfig, chosen: Mapping[str, Sequence[Choice]]) -> list[SearchJob]:
    """One job for every combination of the selected collectors and trainers."""
    [env], [searcher] = chosen["env"], chosen["searcher"]
    jobs = [
        SearchJob(config, env, collector, trainer, searcher)
        for collector, trainer in product(chosen["collector"], chosen["trainer"])
    ]
    # What is misspelt is found before anything is written.
    _ = jobs[0].score, jobs[0].definition
    return jobs


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


def refuse_contradiction(effective: Effective, cells: Sequence[Mapping[str, Any]]) -> None:
    """A resumed run keeps its settings; whoever asks for others is told so."""
    stored = cells[0]
    kept = restored_settings(stored)
    for name, source in effective.sources.items():
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
    for plugin, given in effective.options.items():
        for key, value in given.items():
            was = options.get(plugin, {}).get(key)
            if values.to_text(value) != values.to_text(was):
                raise UsageError(
                    f"{plugin}.{key} is set to {value}, but run {stored['run']} was started with "
                    f"{was}; a resumed run keeps its settings"
                )
