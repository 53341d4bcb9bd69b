from __future__ import annotations

from wfbench.testing import CollectorConformance


class TestSequential(CollectorConformance):
    collector = "sequential"


class TestPipe(CollectorConformance):
    collector = "pipe"


class TestPipeWithSlices(CollectorConformance):
    collector = "pipe"
    options = {"workers": 2, "payload": "true-state"}  # noqa: RUF012 (never changed)


class TestShm(CollectorConformance):
    collector = "shm"


class TestShmOneProcessPerEnv(CollectorConformance):
    collector = "shm"
    options = {"workers": 16}  # noqa: RUF012 (never changed)


class TestAsync(CollectorConformance):
    collector = "async"


class TestVector(CollectorConformance):
    collector = "vector"


class TestVectorWithThreads(CollectorConformance):
    collector = "vector"
    options = {"threads": 3}  # noqa: RUF012 (never changed)
