"""The memory that processes are said to use while others map the same files."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from wfbench.processes.usage import memory_bytes, shared_bytes

SIZE = 256 << 20
"""Far more than what else an interpreter maps."""
MAPS = """
import mmap, sys
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
    for start in range(0, len(pages), mmap.PAGESIZE):
        pages[start]
    print("mapped", flush=True)
    sys.stdin.read()
"""


@contextmanager
def mapping(file: Path) -> Iterator[psutil.Process]:
    """Yield a process that has every page of a file in its memory."""
    with subprocess.Popen(
        [sys.executable, "-c", MAPS, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "mapped\n"
        yield psutil.Process(process.pid)
        process.stdin.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A large file, of which the system counts the pages as those of a file."""
    path = tmp_path / "pages"
    with path.open("wb") as made:
        made.truncate(SIZE)
    with mapping(path) as process:
        status = Path(f"/proc/{process.pid}/status")
        found = re.search(r"RssFile:\s*(\d+) kB", status.read_text() if status.exists() else "")
    if not found or int(found[1]) * 1024 < SIZE:
        pytest.skip("the system does not tell such pages, or keeps temporary files in memory")
    return path


@pytest.mark.parametrize("others", [1, 2])
def test_what_others_map_beside_a_process_is_given_back(file: Path, others: int) -> None:
    with mapping(file) as process:
        alone = memory_bytes([process])
        with ExitStack() as stack:
            for _ in range(others):
                stack.enter_context(mapping(file))
            beside = memory_bytes([process])
            mended = beside + shared_bytes([process], others)
    assert alone - beside > SIZE // 3, "the others must take a share away"
    assert mended == pytest.approx(alone, abs=SIZE // 8)


def test_processes_that_belong_together_share_as_they_do_alone(file: Path) -> None:
    """Two processes map the file and one other does: they are owed a third, not a half."""
    with mapping(file) as one, mapping(file) as two:
        alone = memory_bytes([one, two])
        with mapping(file):
            mended = memory_bytes([one, two]) + shared_bytes([one, two], 1)
    assert mended == pytest.approx(alone, abs=SIZE // 8)


def test_without_others_and_for_processes_that_have_ended_nothing_is_given_back(
    file: Path,
) -> None:
    with mapping(file) as process, mapping(file):
        assert shared_bytes([process], 0) == 0
        assert shared_bytes([process], 1) > SIZE // 4
    assert shared_bytes([process], 1) == 0
