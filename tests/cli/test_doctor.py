from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
from pathlib import Path
from wfbench.contract import Health, HealthCheckSpec, hookimpl

FLAG = Path(__file__).with_suffix(".flag")

def fix():
    FLAG.unlink()
    return "took the flag away"

@hookimpl
def wfbench_health_checks():
    check = lambda: Health(not FLAG.exists(), "a flag", "take it away")
    return [HealthCheckSpec(name="flag", summary="A flag", check=check, fix=fix)]
"""


@pytest.fixture
def plugins(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "flagged.py").write_text(PLUGIN)
    (tmp_path / "flagged.flag").touch()
    return "--plugins-dir", str(tmp_path)


@pytest.fixture
def stale() -> Iterator[Path]:
    """A real shared-memory segment whose owner is dead."""
    owner = subprocess.Popen([sys.executable, "-c", ""])
    owner.wait(timeout=60)
    path = Path("/dev/shm") / f"wfbench_{owner.pid}_{os.getpid():x}"  # noqa: S108 - the real place
    path.write_bytes(b"left over")
    yield path
    path.unlink(missing_ok=True)


def findings(text: str) -> dict[str, Any]:
    answer = json.loads(text)
    assert answer["schema"] == "wfbench/doctor/1"
    return {finding["name"]: finding for finding in answer["findings"]}


def test_every_check_answers(wfbench: Any) -> None:
    done = wfbench("doctor", "--json")
    found = findings(done.stdout)
    assert found.keys() >= {
        "cores",
        "memory",
        "shared-memory",
        "threads",
        "segments",
        "workers",
        "kernel-cache",
        "plugins",
    }
    assert done.returncode == (0 if all(f["ok"] for f in found.values()) else 3)
    assert found["plugins"]["ok"]
    for finding in found.values():
        assert finding["message"]
        assert finding["ok"] or finding["remedy"]


def test_what_is_wrong_is_told_and_mended_on_request(
    wfbench: Any, plugins: tuple[str, str], stale: Path
) -> None:
    for _ in range(10):
        before = wfbench(*plugins, "doctor")
        if stale.name in before.stdout:
            break
        # A collector that another test opened meanwhile has reaped it, as it should.
        assert not stale.exists()
        stale.write_bytes(b"left over")
    assert before.returncode == 3
    assert "to repair: take it away" in before.stdout
    assert stale.name in before.stdout
    found = findings(wfbench(*plugins, "doctor", "--fix", "--json").stdout)
    assert (found["flag"]["ok"], found["flag"]["fixed"]) == (True, "took the flag away")
    assert found["segments"]["ok"]
    assert not stale.exists()
    assert findings(wfbench(*plugins, "doctor", "--json").stdout)["flag"]["ok"]
