from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

STAND_IN = str(Path(__file__).parent / "standin")


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the stand-in is; importable here and in processes that are started."""
    paths = filter(None, (STAND_IN, os.environ.get("PYTHONPATH")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.syspath_prepend(STAND_IN)
    yield STAND_IN
    for name in [name for name in sys.modules if name.partition(".")[0] == "CybORG"]:
        del sys.modules[name]
