from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[3] / "data" / "threads-plugin"


class Repository:
    """A git repository with the plugin `wfbench-threads`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        shutil.copytree(PLUGIN, path, ignore=shutil.ignore_patterns("__pycache__"))
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit("Begin")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
        command = ["git", "-C", str(self.path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def plant(self, share: float) -> None:
        """Make every collect of the working tree take longer by this share."""
        self.write("src/wfbench_threads/collector.py", "\nPLANTED = ", f"{share}  #")

    def write(self, file: str, mark: str, text: str) -> None:
        path = self.path / file
        before, found, after = path.read_text().partition(mark)
        assert found, f"{file} has no {mark!r}"
        path.write_text(before + mark + text + after)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository that is the current folder, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Repository(tmp_path / "project")
    monkeypatch.chdir(found.path)
    return found
