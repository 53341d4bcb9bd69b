from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from wfbench.contract import Health, HealthCheckSpec, hookimpl
from wfbench.host import doctor
from wfbench.host.discovery import Candidate, Source
from wfbench.host.doctor import HealthFinding, examine
from wfbench.host.manager import PluginHost
from wfbench.processes import leftovers, limits, segments


@pytest.fixture
def dead_pid() -> int:
    """The number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=60)
    return process.pid


OWNER = "WFBENCH_OWNER_IN_A_TEST"


@pytest.fixture(autouse=True)
def shm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave alone what other runs on this machine have."""
    monkeypatch.setattr(segments, "SHM", tmp_path)
    monkeypatch.setattr(leftovers, "OWNER_VARIABLE", OWNER)
    return tmp_path


@pytest.fixture
def orphan(dead_pid: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that works for an owner who is dead."""
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); import time; time.sleep(100)"],
        env={**os.environ, OWNER: str(dead_pid)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait(timeout=60)
    process.stdout.close()


def finding(name: str, host: PluginHost | None = None, *, fix: bool = False) -> HealthFinding:
    [found] = [f for f in examine(host or PluginHost(), fix=fix) if f.name == name]
    return found


def test_segments_of_the_dead_are_found_and_removed_and_no_others(shm: Path, dead_pid: int) -> None:
    stale = shm / f"wfbench_{dead_pid}_0a1b"
    alive = shm / f"wfbench_{os.getpid()}_0a1b"
    foreign = shm / f"other_{dead_pid}_0a1b"
    for path in (stale, alive, foreign):
        path.write_bytes(b"x" * 10)
    [before] = [found for found in examine(PluginHost()) if found.name == "segments"]
    assert not before.ok
    assert stale.name in before.message
    assert "10 bytes" in before.message
    after = finding("segments", fix=True)
    assert (after.ok, after.fixed) == (True, "removed 1 segments")
    assert [path.exists() for path in (stale, alive, foreign)] == [False, True, True]


def test_a_segment_that_someone_holds_is_left_alone(shm: Path, dead_pid: int) -> None:
    held = shm / f"wfbench_{dead_pid}_0a1b"
    with held.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert finding("segments", fix=True).ok
        assert held.exists()


def test_workers_of_the_dead_are_found_and_ended(orphan: subprocess.Popen[bytes]) -> None:
    before = finding("workers")
    assert not before.ok
    assert str(orphan.pid) in before.message
    assert finding("workers", fix=True).fixed == "ended 1 workers"
    assert not psutil.pid_exists(orphan.pid)
    assert finding("workers").ok


def test_workers_of_the_living_are_left_alone() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(100)"],
        env={**os.environ, OWNER: str(os.getpid())},
    )
    try:
        assert str(process.pid) not in finding("workers").message
    finally:
        process.kill()
        process.wait(timeout=60)


def test_too_little_room_is_told_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: usage._replace(available=10**6))
    low = finding("memory")
    assert (low.ok, low.remedy) == (False, "close other programs, or use fewer workers")


@pytest.mark.parametrize("value", ["0", "many", "9999"])
def test_thread_settings_that_do_not_fit_the_cores_are_told(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    found = finding("threads")
    assert (found.ok, found.remedy) == (False, "export OMP_NUM_THREADS=1 (or unset it)")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert finding("threads").ok


def test_a_container_with_less_time_than_cores_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text("150000 100000\n")
    assert limits.cpu_quota(quota) == 1.5
    quota.write_text("max 100000\n")
    assert limits.cpu_quota(quota) is None
    assert limits.cpu_quota(tmp_path / "none") is None
    monkeypatch.setattr(doctor, "cpu_quota", lambda: 0.5)
    assert "may use only 0.5" in finding("cores").message


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert finding("kernel-cache").message == "empty; the first run compiles"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kernel.nbi").touch()
    assert finding("kernel-cache").message == "1 compiled functions kept"
    monkeypatch.setattr(os, "access", lambda *_args: False)
    bad = finding("kernel-cache")
    assert (bad.ok, bad.remedy) == (False, "export NUMBA_CACHE_DIR=some writable directory")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    ours = Path(doctor.__file__).parents[1] / "policies"
    assert finding("kernel-cache").message == f"compiled kernels cannot be kept in {ours}"


def test_kernels_are_kept_beside_their_sources_or_where_numba_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(os, "access", lambda path, _mode: asked.append(path) is None)
    (tmp_path / "__pycache__").mkdir()
    host = PluginHost()
    host.loaded.append(Source("p", "", "", str(tmp_path / "plugin.py")))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert finding("kernel-cache", host).ok
    assert tmp_path / "__pycache__" in asked
    asked.clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert finding("kernel-cache", host).ok
    assert asked == [tmp_path]


def test_checks_of_plugins_run_and_cannot_stop_the_others() -> None:
    state = {"well": False}

    def mend() -> str:
        state["well"] = True
        return "made it well"

    def raises() -> Health:
        raise OSError("no luck")

    def lies() -> Health:
        return "fine"  # type: ignore[return-value]

    class Plugin:
        @hookimpl
        def wfbench_health_checks(self) -> list[HealthCheckSpec]:
            spec = HealthCheckSpec
            return [
                spec(name="raising", summary="x", check=raises),
                spec(name="lying", summary="x", check=lies),
                spec(
                    name="mendable",
                    summary="x",
                    check=lambda: Health(state["well"], "as it is", "mend it"),
                    fix=mend,
                ),
                spec(
                    name="hopeless",
                    summary="x",
                    check=lambda: Health(ok=False, message="bad", remedy="give up"),
                    fix=lambda: str(1 // 0),
                ),
            ]

    host = PluginHost()
    host.add(Candidate(Source("test", "wfbench-test", "1", ""), Plugin))
    assert not finding("raising", host).ok
    assert not finding("lying", host).ok
    assert finding("raising", host).message == "the check raised OSError: no luck"
    assert "not a Health" in finding("lying", host).message
    assert finding("mendable", host).remedy == "mend it"
    mended = finding("mendable", host, fix=True)
    assert (mended.ok, mended.fixed, mended.remedy) == (True, "made it well", "")
    hopeless = finding("hopeless", host, fix=True)
    assert (hopeless.ok, hopeless.remedy) == (False, "give up")
    assert "ZeroDivisionError" in hopeless.fixed


@pytest.mark.parametrize(("spare", "ok"), [(0, True), (-1, False)])
def test_room_is_enough_from_a_gibibyte_and_64_mebibytes_on(
    spare: int,
    ok: bool,  # noqa: FBT001 - a parameter
    shm: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = psutil.virtual_memory()._replace(available=2**30 + spare)
    disk = shutil.disk_usage(shm)._replace(free=2**26 + spare)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: disk)
    monkeypatch.setattr(doctor, "SHM", shm)
    found, shared = finding("memory"), finding("shared-memory")
    assert (found.ok, found.message) == (ok, "1.0 GiB available")
    assert (shared.ok, shared.message) == (ok, f"64 MiB free in {shm}")
    assert [bool(one.remedy) for one in (found, shared)] == [not ok] * 2


def test_where_there_is_no_shared_memory_none_is_missed(
    shm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "SHM", shm / "none")
    found = finding("shared-memory")
    assert found.ok
    assert "shared arrays go to the temporary directory" in found.message


@pytest.mark.parametrize(
    ("quota", "remedy"),
    [(None, ""), (4.0, ""), (9.0, ""), (3.9, "workers=3"), (1.0, "workers=1"), (0.5, "workers=1")],
)
def test_workers_are_advised_by_the_quota(
    quota: float | None, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "cpu_quota", lambda: quota)
    monkeypatch.setattr(doctor, "usable_cores", lambda: 4)
    found = finding("cores")
    assert found.ok == (not remedy)
    assert remedy in found.remedy
    assert f"{remedy}," in found.remedy or not remedy


def test_as_many_threads_as_cores_are_fine_and_one_more_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in limits.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    unset = finding("threads")
    assert (unset.ok, unset.message) == (True, "no thread limits set; workers set their own")
    monkeypatch.setattr(doctor, "usable_cores", lambda: 4)
    for threads, ok in (("1", True), ("4", True), ("5", False)):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert finding("threads").ok == ok
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert finding("threads").message == "OMP_NUM_THREADS=2"


def test_where_nothing_is_wrong_all_is_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    found = {name: finding(name) for name in ("segments", "workers", "kernel-cache", "plugins")}
    assert [name for name, one in found.items() if not one.ok or one.remedy or one.fixed] == []
    assert found["segments"].message.startswith("no stale segments in ")
    assert found["workers"].message == "no orphaned workers"
    assert found["plugins"].message == "0 plugins loaded, none broken"
    assert {one.fixed for one in examine(PluginHost(), fix=True) if one.ok} == {""}


def test_a_broken_plugin_is_named_with_its_cause() -> None:
    class Wrong:
        @hookimpl
        def wfbench_health_checks(self) -> int:
            return 3

    host = PluginHost()
    host.add(Candidate(Source("test", "wfbench-test", "1", ""), Wrong))
    found = finding("plugins", host)
    assert not found.ok
    assert found.message.startswith("1 broken: test (wfbench-test 1): ")
    assert found.remedy.startswith("upgrade or uninstall wfbench-test, or name it in ")
