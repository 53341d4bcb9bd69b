"""The compiled kernel: its disk cache, and the line shown while it is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wfbench_cage2
from wfbench_cage2.compiling import NOTICE

STEP = "from wfbench_cage2 import Cage2Env; e = Cage2Env(); e.reset(); e.step(0)"


def step_in_a_fresh_process(cache, package):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, "-c", STEP],
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
        env=environment,
    )
    return done.stderr


@pytest.mark.timeout(900)
def test_a_cold_compile_says_so_once_a_warm_start_nothing_and_a_changed_rule_compiles_again(
    tmp_path,
):
    package = tmp_path / "package" / "wfbench_cage2"
    shutil.copytree(Path(wfbench_cage2.__file__).parent, package)
    cache = tmp_path / "cache"
    assert step_in_a_fresh_process(cache, package.parent) == NOTICE + "\n"
    assert step_in_a_fresh_process(cache, package.parent) == ""
    tables = package / "tables.py"
    tables.write_text(tables.read_text().replace("RESTORE_COST = 10", "RESTORE_COST = 20"))
    assert step_in_a_fresh_process(cache, package.parent) == NOTICE + "\n"


def test_threads_may_load_the_kernel_at_once():
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from wfbench_cage2.kernel import load_kernel\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    kernels = list(pool.map(lambda _: load_kernel(), range(8)))\n"
        "assert all(k.step is kernels[0].step for k in kernels)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=110)
