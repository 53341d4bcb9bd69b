"""The scripts of examples/ run, in smoke size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(script: Path, tmp_path: Path, clean_environ: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**clean_environ, "WFBENCH_EXAMPLES_SMOKE": "1", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
