from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from wfbench.contract import PluginError
from wfbench_cyborg.simulator import find_package


@pytest.fixture(scope="session")
def simulator() -> None:
    """Skip tests that need the official simulator where it cannot be imported."""
    try:
        find_package()
    except PluginError as error:
        pytest.skip(str(error))


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is imported as CybORG, here and in processes that are started."""
    folder = tmp_path / "other" / "CybORG"
    folder.mkdir(parents=True)
    paths = filter(None, (str(folder.parent), os.environ.get("PYTHONPATH")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.syspath_prepend(str(folder.parent))
    for name in [name for name in sys.modules if name.partition(".")[0] == "CybORG"]:
        monkeypatch.delitem(sys.modules, name)
    return folder
