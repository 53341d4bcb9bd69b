"""Landscapes from the run directories of exhaustive searches."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from wfbench.contract import NotComparableError, Order, UsageError
from wfbench.host import values
from wfbench.search.history import RecordedSearch, read_search
from wfbench.search.landscape.records import Landscape, Replicate, collect_landscape
from wfbench.search.same_work import training_of
from wfbench.settings.config import SETTINGS
from wfbench.store.config import StoredConfig


def landscape_of(runs: Sequence[Path], *, inherited: bool = False) -> Landscape:
    """Return the landscape of every workflow of these runs, which must train in the same way.

    A workflow that inherited another's policy is not a training of its order alone; it is refused
    unless `inherited`.
    """
    searches = [read_search(run) for run in runs]
    for search in searches:
        if search.joint:
            raise NotComparableError(
                f"{search.path} trained one policy for all orders; a landscape needs one training "
                "per order: wfbench run --training per-order --inherit none"
            )
        _refuse_difference(searches[0], search)
    found = [pair for search in searches for pair in _replicates(search, inherited=inherited)]
    if not found:
        raise UsageError("no workflow of these runs has finished")
    first = searches[0].config
    settings = first.settings
    meta = {
        "env": first.label("env"),
        "trainer": first.label("trainer"),
        "definition": first.definition,
        "score": settings["score"],
        "budget": settings["max_episodes"] * settings["n_envs"] * first.episode_steps,
        "command": "; ".join(command_of(search.config) for search in searches),
    }
    return collect_landscape(found, first.units, meta)


def command_of(config: StoredConfig) -> str:
    """Return the command that runs this configuration again."""
    words = ["wfbench", "run"]
    for setting in SETTINGS.values():
        if setting.key not in config.settings:
            continue  # a run of a version that did not have it yet
        found = config.settings[setting.key]
        value = tuple(found) if isinstance(found, list) else found
        if setting.kind in config.plugins:
            label = config.label(setting.kind)
            if label != values.to_text(setting.default):
                words += [setting.flag, label]
        elif setting.role and setting.field in config.plugins[setting.role].options:
            continue  # the label of the plugin says it already
        elif value != setting.default:
            words += [setting.flag, values.to_text(value)]
    return shlex.join(words)


def _replicates(search: RecordedSearch, *, inherited: bool) -> Iterator[tuple[Order, Replicate]]:
    for result in search.finished():
        if result.inherited_from is not None and not inherited:
            raise NotComparableError(
                f"workflow {result.workflow} of {search.path} started from another order's policy; "
                "a landscape needs runs made with --inherit none"
            )
        values = {field.name: getattr(result, field.name) for field in fields(Replicate)}
        yield result.order, Replicate(**values)


def _refuse_difference(first: RecordedSearch, other: RecordedSearch) -> None:
    if other.config.smoke:
        raise NotComparableError(f"{other.path} is a smoke run; it measures nothing")
    wanted, found = training_of(first.config), training_of(other.config)
    for key, value in wanted.items():
        if found[key] != value:
            raise NotComparableError(
                f"{first.path} has {key} {value}, {other.path} has {found[key]}; the runs of a "
                "landscape must train in the same way"
            )
