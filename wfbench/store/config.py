"""`config.json` and `matrix.json`: how a search was started, and which searches form a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

from .decoding import decode
from .files import read_json, write_json
from .places import MATRIX_FILE, SEARCH_CONFIGS, run_kind

_MATRICES = ("matrix/2", "matrix/1")


@dataclass(frozen=True)
class StoredPlugin:
    """A plugin that a run chose."""

    name: str
    label: str
    options: Mapping[str, Any]
    source: str = ""


@dataclass(frozen=True)
class StoredConfig:
    """How a search was started: enough to run the same search again."""

    run: str
    created: str
    smoke: bool
    settings: Mapping[str, Any]
    plugins: Mapping[str, StoredPlugin]
    """By kind: env, collector, trainer, searcher."""
    units: tuple[str, ...]
    episode_steps: int
    definition: str
    """Id of the compliance definition."""
    secondary: str
    """Id of the definition by which compliance is reported as well."""

    def label(self, kind: str) -> str:
        """Return the label of the plugin of a kind."""
        return self.plugins[kind].label


def read_config(path: Path) -> StoredConfig:
    """Read how the search in a run directory was started."""
    if run_kind(path) == "bench":
        raise UsageError(
            f"{path} holds what `wfbench bench` measured. That is not a search and cannot be "
            "resumed; start a search with `wfbench run`"
        )
    file = path / "config.json"
    values = read_json(file, *SEARCH_CONFIGS)
    del values["schema"]
    if "beside" in values:  # 0.1.0
        values["secondary"] = values.pop("beside")
    return decode(StoredConfig, values, str(file))


def write_matrix(path: Path, run: str, searches: list[str]) -> None:
    """Write `matrix.json`: the directories of the searches of a run."""
    write_json(path / MATRIX_FILE, _MATRICES[0], {"run": run, "searches": searches})


def search_paths(path: Path) -> list[Path]:
    """Return the directories of the searches of a run: several for a matrix, otherwise its own."""
    file = path / MATRIX_FILE
    if not file.exists():
        return [path]
    values = read_json(file, *_MATRICES)
    found = values.get("searches", values.get("cells"))  # 0.1.0 said cells
    if not isinstance(found, list) or not found:
        raise UsageError(f"{file} does not list its searches")
    return [path / str(name) for name in found]
