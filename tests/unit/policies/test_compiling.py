"""Compiled functions that several processes want at once."""

from __future__ import annotations

import os
import subprocess
import sys

_MODULE = """
from wfbench.policies.compiling import compiled, part


@part
def same(x):
    return x


@part
def add(x, y):
    return same(x) + same(y)


@compiled
def double(x):
    return add(x, same(x))
"""
_CALL = (
    "import doubling; assert doubling.double(3) == 6; "
    "print(sum(doubling.double.stats.cache_misses.values()))"
)


def call_in_processes(folder, count):
    """Return how many of the processes compiled."""
    variables = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", _CALL]
    processes = [
        subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.PIPE)
        for _ in range(count)
    ]
    answers = [process.communicate(timeout=100)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * count
    return sum(int(answer) for answer in answers)


def test_processes_that_want_the_same_function_compile_it_once(tmp_path):
    (tmp_path / "doubling.py").write_text(_MODULE)
    assert call_in_processes(tmp_path, 3) == 1


def test_without_a_lock_file_every_process_compiles_for_itself(tmp_path):
    (tmp_path / "doubling.py").write_text(_MODULE)
    assert call_in_processes(tmp_path, 1) == 1
    [lock] = (tmp_path / "cache").rglob("*.lock")
    lock.unlink()
    lock.mkdir()
    assert call_in_processes(tmp_path, 1) == 0
    [index] = (tmp_path / "cache").rglob("*.nbi")
    index.unlink()
    assert call_in_processes(tmp_path, 1) == 1


def test_no_garbage_is_collected_until_the_outermost_compilation_ends():
    code = (
        "import gc, wfbench.policies.compiling\n"
        "from numba.core.event import trigger_event\n"
        "seen = []\n"
        "for switched in (gc.enable, gc.disable):\n"
        "    switched()\n"
        "    for _ in range(2):\n"
        "        with trigger_event('numba:compile'):\n"
        "            with trigger_event('numba:compile'):\n"
        "                seen.append(gc.isenabled())\n"
        "            seen.append(gc.isenabled())\n"
        "        seen.append(gc.isenabled())\n"
        "assert seen == [False, False, True] * 2 + [False] * 6, seen\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
