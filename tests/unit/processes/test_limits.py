"""How many cores and threads are used, how long was compiled, calls one after the other."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from wfbench.processes import compile_time, limits
from wfbench.processes.limits import cpu_quota, usable_cores, usable_threads


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.parametrize(
    ("given", "threads"),
    [("", 8), ("0", 8), ("1", 1), ("3", 3), ("8", 8), ("9", 8), ("many", 8), ("-2", 8)],
)
@pytest.mark.usefixtures("cores")
def test_threads_are_as_many_as_set_but_no_more_than_cores(
    given: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    assert usable_threads() == threads
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert usable_threads() == 8


def test_cores_are_counted_where_no_affinity_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(limits, "os", SimpleNamespace(cpu_count=lambda: 6))
    assert usable_cores() == 6
    monkeypatch.setattr(limits, "os", SimpleNamespace(cpu_count=lambda: None))
    assert usable_cores() == 1
    known = SimpleNamespace(sched_getaffinity=lambda pid: (asked.append(pid), {0, 5})[1])
    monkeypatch.setattr(limits, "os", known)
    assert usable_cores() == 2
    assert asked == [0]


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("max 100000\n", None),
        ("150000 100000\n", 1.5),
        ("50000 100000\n", 0.5),
        ("nothing", None),
        ("a b", None),
        (None, None),
    ],
)
def test_the_quota_of_the_control_group(
    text: str | None, quota: float | None, tmp_path: Path
) -> None:
    file = tmp_path / "cpu.max"
    if text is not None:
        file.write_text(text)
    assert cpu_quota(file) == quota


def test_compiling_is_counted_while_it_lasts_and_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(compile_time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(compile_time, "_before", 3.0)
    monkeypatch.setattr(compile_time, "_since", None)
    assert compile_time.compile_seconds() == 3.0
    compile_time.compile_began()
    now[0] = 107.0
    assert compile_time.compile_seconds() == 10.0
    compile_time.compile_ended()
    now[0] = 200.0
    assert compile_time.compile_seconds() == 10.0
    compile_time.compile_began()
    now[0] = 201.0
    compile_time.compile_ended()
    assert compile_time.compile_seconds() == 11.0
