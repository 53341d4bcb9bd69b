"""What every test gets: proof that it left nothing behind, and wfbench as a user runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from wfbench.testing.harness import footprint

_SHM = Path("/dev/shm")  # noqa: S108 - looked at, never written to
_GRACE = 5.0
"""Seconds a worker that was told to end has for really ending."""

# What hypothesis would complain of is a slow machine. Fixtures that an example could change have no
# place in a property; those that are used hold nothing to change.
settings.register_profile(
    "no-clock",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("no-clock")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets what it starts in the background ignore Ctrl-C, and whatever the tests start
    # would inherit that, also where Ctrl-C is what is tested.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _segments() -> set[str]:
    return {entry.name for entry in _SHM.glob("wfbench_*")} if _SHM.is_dir() else set()


def _descriptors() -> dict[int, str]:
    """Open files, pipes and sockets by number.

    The pipes to Python's resource tracker and fork server stay open for the session by design, and
    a file under /proc or /sys is a library's own cache, so neither counts.
    """
    open_now = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if not target.startswith(("/proc/", "/sys/", "/dev/")):
            open_now[int(entry.name)] = target
    return open_now


def _session_descriptors() -> set[int | None]:
    return {
        getattr(resource_tracker._resource_tracker, "_fd", None),
        getattr(forkserver._forkserver, "_forkserver_alive_fd", None),
    }


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail a test that leaves a child process, a shared-memory segment or a descriptor behind."""
    children, segments, descriptors = footprint.children(), _segments(), _descriptors()
    yield
    deadline = time.monotonic() + _GRACE
    while (left := footprint.children() - children) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, f"processes left behind: {sorted(left)}"
    mine = {name for name in _segments() - segments if name.split("_")[1:2] == [str(os.getpid())]}
    assert not mine, f"shared-memory segments left behind: {sorted(mine)}"
    after = _descriptors()
    grown = {fd: after[fd] for fd in after.keys() - descriptors.keys() - _session_descriptors()}
    assert not grown, f"descriptors left open: {grown}"


@pytest.fixture
def clean_environ() -> dict[str, str]:
    """The environment of this process without what would change wfbench's answers."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "PYTHONPATH")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("WFBENCH_") and name not in unwanted
    }


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the kept outputs; look at the difference before committing it."""
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/**/golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name in `golden/` beside the test.

    Six digits of a long number count: processors add in different sequences.
    """

    def compare(name: str, text: str) -> None:
        text = re.sub(r"\d+\.\d{7,}(e-?\d+)?", lambda long: f"{float(long[0]):.6g}", text)
        found = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
        kept = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(found)
        assert found == kept.read_text()

    return compare


@pytest.fixture
def forkable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget that another test loaded torch: no worker of these tests ever uses it."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def wfbench(clean_environ: dict[str, str]) -> Run:
    """Run `wfbench ARGS...` as its own process; `env` adds variables, `cwd` sets the directory."""

    def run(
        *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "wfbench", *args],
            env={**clean_environ, **(env or {})},
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


@pytest.fixture
def make_distribution(tmp_path: Path) -> Callable[..., Path]:
    """Write an installed distribution and return the directory to put on PYTHONPATH."""

    def make(
        name: str, files: Mapping[str, str], entry_points: Mapping[str, str], version: str = "1.2.3"
    ) -> Path:
        site = tmp_path / "site"
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = [f"{key} = {value}" for key, value in entry_points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[wfbench]", *lines, ""]))
        for path, text in files.items():
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
        return site

    return make


@pytest.fixture(scope="session")
def small_plugins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that offer the trainer `tiny` and the searcher `climber`, which load quickly."""
    from wfbench.host.scaffold import create_plugin

    folder = tmp_path_factory.mktemp("small")
    sources = [
        create_plugin(kind, name, folder) / "src"
        for kind, name in (("trainer", "tiny"), ("searcher", "climber"))
    ]
    offer = folder / "offer"
    offer.mkdir()
    (offer / "small.py").write_text(
        "from wfbench_climber.plugin import wfbench_searchers\n"
        "from wfbench_tiny.plugin import wfbench_trainers\n"
    )
    return {
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "WFBENCH_PLUGINS_DIR": str(offer),
    }


@pytest.fixture(scope="session")
def small_run() -> list[str]:
    """A search that trains one order at a time, about a second with `small_plugins`."""
    shape = "obs_size=6,num_actions=5,episode_length=10"
    return [
        *("run", "--preset", "per-order", "--env", f"synthetic:step=0.0002,busy=false,{shape}"),
        *("--collector", "sequential", "--trainer", "tiny", "--searcher", "climber"),
        *("--n-envs", "4", "--workflows", "8", "--max-episodes", "5", "--min-episodes", "1"),
        *("--update-every", "10", "--stop", "budget"),
    ]
