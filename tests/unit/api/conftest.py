"""Functions of the API with our plugins only, in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from made_runs import make_runs
from recorders import Recorder, put_instead

import wfbench
from wfbench.api import hosting


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hosting, "_STATE", hosting._STATE)
    wfbench.use_plugins(no_plugins=True)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with three bench runs, of which the last one is slow."""
    return make_runs(tmp_path / "made")


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recorder]:
    """Put a recorder in the place of a function that would measure or train for long."""
    return partial(put_instead, monkeypatch)
