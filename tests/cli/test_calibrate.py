from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TINY = (
    *("calibrate", "--env", "synthetic:step=0.01,busy=false,episode_length=4"),
    *("--collector", "sequential"),
    *(
        "--collector",
        "vector",
        "--n-envs",
        "1",
        "--rounds",
        "12",
        "--window",
        "4",
        "--seconds",
        "0.05",
        "--steps",
        "2",
    ),
)


def test_the_same_code_against_itself(clean_environ: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wfbench", *TINY, "--json"],
        cwd=tmp_path,
        env=clean_environ,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/calibration/1"
    kept = json.loads((tmp_path / "results" / "calibration.json").read_text())
    assert kept["schema"] == "wfbench/calibration/1"
    assert kept["machine"]["cpu"]
    [noise] = kept["cases"]
    assert noise["label"] == "vector"
    assert len(noise["log_ratios"]) == 12
    assert kept["minimum_effect"] >= 0.05
    assert 0 <= answer["false_alarms"] <= 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--rounds", "11"), "11 rounds, windows of 4"),
        (("--window", "3"), "a window has at least 4 rounds"),
        (("--collector", "gone"), "there is no collector 'gone'"),
    ],
)
def test_misuse_is_one_line(
    wfbench: Any, tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    done = wfbench(*TINY, *args, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
