"""Results as released versions wrote them. They are never written again, only added to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A copy of everything that was kept, to do with as a test likes."""
    return Path(shutil.copytree(DATA, tmp_path / "kept"))
