"""The compiled kernel: its disk cache, and the line shown while it is made."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import wfbench_cage2
from wfbench_cage2.compiling import _SOURCES, NOTICE

STEP = "from wfbench_cage2 import Cage2Env; e = Cage2Env(); e.reset(); e.step(0)"


def step_in_a_fresh_process(cache, package=None):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    done = subprocess.run(
        [sys.executable, "-c", STEP],
        capture_output=True,
        text=True,
        check=True,
        timeout=110,
        env=environment,
    )
    return done.stderr


def test_a_cold_compile_says_so_once_and_a_warm_start_says_nothing(tmp_path):
    assert step_in_a_fresh_process(tmp_path) == NOTICE + "\n"
    assert step_in_a_fresh_process(tmp_path) == ""


def test_the_digest_covers_every_module_the_kernel_imports():
    folder = Path(wfbench_cage2.__file__).parent
    reached, waiting = set(), ["kernel"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += re.findall(
                r"^from \.(\w+) import", (folder / f"{name}.py").read_text(), re.MULTILINE
            )
    assert reached == set(_SOURCES)


def test_a_change_of_a_source_file_voids_the_cache(tmp_path):
    package = tmp_path / "package" / "wfbench_cage2"
    shutil.copytree(Path(wfbench_cage2.__file__).parent, package)
    cache = tmp_path / "cache"
    assert NOTICE in step_in_a_fresh_process(cache, package.parent)
    assert step_in_a_fresh_process(cache, package.parent) == ""
    tables = package / "tables.py"
    tables.write_text(tables.read_text().replace("RESTORE_COST = 10", "RESTORE_COST = 20"))
    assert NOTICE in step_in_a_fresh_process(cache, package.parent)
