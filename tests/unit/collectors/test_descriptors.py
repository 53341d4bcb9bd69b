"""What the process that starts workers has of its collector: as little as possible."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from wfbench.contract import Plan
from wfbench.processes.segments import segment_dir
from wfbench_collectors.shm import ShmCollector

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """A file that this process has open many times, but for two descriptors in the middle."""
    path = tmp_path / "secret"
    path.write_text("")
    opened = [os.open(path, os.O_RDONLY) for _ in range(8)]
    for descriptor in opened[3:5]:
        os.close(descriptor)
    yield path
    for descriptor in opened[:3] + opened[5:]:
        os.close(descriptor)


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_no_descriptor_but_three_streams_and_its_own_connections_is_inherited(
    plan_of: Callable[..., Plan], secret: Path, method: str
) -> None:
    before = {child.pid for child in psutil.Process().children()}
    with ShmCollector(workers=1, start_method=method) as collector:
        collector.open(plan_of(n_envs=2))
        [nursery] = [c for c in psutil.Process().children() if c.pid not in before]
        [worker] = nursery.children()
        assert ("wfbench_collectors.worker" in worker.cmdline()[2]) == (method == "spawn")
        for process, own in ((nursery.pid, ["socket"] * 3), (worker.pid, ["pipe"] * 2)):
            links = {
                int(one.name): str(one.readlink())
                for one in Path(f"/proc/{process}/fd").iterdir()
                if one.is_symlink()
            }
            assert str(secret) not in links.values()
            assert links.pop(0) == os.devnull
            assert links.pop(1) == links.pop(2)
            others = [link for link in links.values() if Path(link).parent != segment_dir()]
            assert [link.partition(":")[0] for link in others] == own
            assert os.getpgid(process) == nursery.pid
