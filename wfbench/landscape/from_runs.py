"""Landscapes out of the run directories of exhaustive searches."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wfbench import values
from wfbench.config import SETTINGS
from wfbench.contract import NotComparableError, Order, UsageError
from wfbench.landscape.records import Landscape, Replicate, collect_landscape
from wfbench.store.event_log import read_events
from wfbench.store.run import read_config

_FREE = ("seed", "seeds", "searcher", "workflows", "collector", "executor", "batch")
"""Settings in which the runs of one landscape may differ: they do not change what is measured."""


def landscape_of(runs: Sequence[Path], *, inherited: bool = False) -> Landscape:
    """The landscape of every workflow of these runs, which must have trained on equal terms.

    A workflow that inherited another's policy is not a training of its order alone; it is refused
    unless `inherited`.
    """
    configs = [read_config(run) for run in runs]
    for run, config in zip(runs, configs, strict=True):
        _refuse_difference(configs[0], config, runs[0], run)
    first = configs[0]
    found = [pair for run in runs for pair in _replicates(run, inherited=inherited)]
    if not found:
        raise UsageError("no workflow of these runs has finished")
    settings = first["settings"]
    meta = {
        "env": first["plugins"]["env"]["label"],
        "trainer": first["plugins"]["trainer"]["label"],
        "definition": first["definition"],
        "score": settings["score"],
        "budget": settings["max_episodes"] * settings["n_envs"] * first["episode_steps"],
        "command": "; ".join(command_of(config) for config in configs),
    }
    return collect_landscape(found, first["units"], meta)


def command_of(config: Mapping[str, Any]) -> str:
    """The command that runs this configuration again."""
    words = ["wfbench", "run"]
    for setting in SETTINGS.values():
        if setting.key not in config["settings"]:
            continue  # a run of a version that did not have it yet
        value = config["settings"][setting.key]
        if isinstance(value, list):
            value = tuple(value)
        if setting.kind in config["plugins"]:
            plugin = config["plugins"][setting.kind]
            if plugin["label"] != values.to_text(setting.default):
                words += [setting.flag, plugin["label"]]
        elif value != setting.default and not (setting.role and _in_label(config, setting)):
            words += [setting.flag, values.to_text(value)]
    return shlex.join(words)


def _in_label(config: Mapping[str, Any], setting: Any) -> bool:
    """Whether the label of the plugin that reads a setting says it already."""
    return setting.field in config["plugins"][setting.role]["options"]


def _replicates(run: Path, *, inherited: bool) -> Iterator[tuple[Order, Replicate]]:
    for event in read_events(run / "events.jsonl"):
        if event["event"] != "workflow-finished":
            continue
        if event["inherited_from"] is not None and not inherited:
            raise NotComparableError(
                f"workflow {event['workflow']} of {run} began with another order's policy; "
                "a landscape needs runs made with --inherit none"
            )
        score = float("nan") if event["score"] is None else float(event["score"])
        yield (
            tuple(event["permutation"]),
            Replicate(
                seed=int(event["seed"]),
                score=score,
                compliance=float(event["compliance"]),
                steps_to_compliance=event["steps_to_compliance"],
                env_steps=int(event["env_steps"]),
            ),
        )


def _refuse_difference(
    one: Mapping[str, Any], other: Mapping[str, Any], first: Path, run: Path
) -> None:
    if other["smoke"]:
        raise NotComparableError(f"{run} is a smoke run; it measures nothing")
    for key, value in one["settings"].items():
        if key not in _FREE and other["settings"][key] != value:
            raise NotComparableError(
                f"{first} has {key} {value}, {run} has {other['settings'][key]}; one landscape "
                "needs equal terms"
            )
    for kind in ("env", "trainer"):
        if one["plugins"][kind]["label"] != other["plugins"][kind]["label"]:
            raise NotComparableError(f"{first} and {run} differ in the {kind}")
