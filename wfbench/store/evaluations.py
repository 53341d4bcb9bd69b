"""Evaluations that are kept with the run whose policy was played."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .files import read_json, write_json, writing

FOLDER = "evaluations"
SCHEMAS = ("evaluation/2", "evaluation/1", "cross-evaluation/1", "orders-evaluation/1")


def save_evaluation(run: Path, schema: str, values: Mapping[str, Any]) -> Path:
    """Keep one more evaluation with its run; return its file."""
    folder = run / FOLDER
    with writing(folder):
        folder.mkdir(exist_ok=True)
    number = 1 + max((int(file.stem) for file in _files(run)), default=0)
    path = folder / f"{number:03d}.json"
    write_json(path, schema, values)
    return path


def read_evaluations(run: Path) -> list[dict[str, Any]]:
    """Return every evaluation of a run, oldest first."""
    return [read_evaluation(file) for file in _files(run)]


def read_evaluation(path: Path) -> dict[str, Any]:
    """Return one evaluation."""
    return read_json(path, *SCHEMAS)


def _files(run: Path) -> list[Path]:
    return sorted(file for file in (run / FOLDER).glob("*.json") if file.stem.isdigit())
