"""Commands that tests fork are like those that a user starts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_server import CommandServer


@pytest.mark.parametrize(
    "args",
    [("plugins", "list", "--json"), ("config", "--json"), ("runs", "list"), ("nope",)],
    ids=" ".join,
)
def test_a_forked_command_answers_like_a_started_one(
    wfbench: Any, started_wfbench: Any, tmp_path: Path, args: tuple[str, ...]
) -> None:
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "own.py").write_text("from wfbench_synthetic.plugin import *\n")
    env = {"PYTHONPATH": str(tmp_path / "beside"), "WFBENCH_PLUGINS_DIR": str(tmp_path / "beside")}
    forked, started = (run(*args, env=env, cwd=tmp_path) for run in (wfbench, started_wfbench))
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode,
        started.stdout,
        started.stderr,
    )


def test_what_a_library_reads_when_it_is_loaded_needs_a_process_that_loads_it(
    command_server: CommandServer, clean_environ: dict[str, str]
) -> None:
    assert command_server.fits({**clean_environ, "PYTHONPATH": "x", "WFBENCH_SEED": "1"})
    assert not command_server.fits({**clean_environ, "NUMBA_DISABLE_JIT": "1"})
    assert not command_server.fits({**clean_environ, "PYTHONWARNINGS": "error"})


def test_a_command_that_takes_too_long_is_ended_and_the_next_one_runs(
    command_server: CommandServer, clean_environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitting.py").write_text("import time\ntime.sleep(300)\n")
    slow = ("--plugins-dir", str(tmp_path), "plugins", "list")
    with pytest.raises(subprocess.TimeoutExpired):
        command_server.run(slow, clean_environ, tmp_path, 2.0)
    assert command_server.run(("--version",), clean_environ, tmp_path, 100.0).returncode == 0
