"""The promises are kept, but for those that the library cannot keep and that are declared."""

from __future__ import annotations

from wfbench.testing import CollectorConformance


class TestDummy(CollectorConformance):
    collector = "tianshou-dummy"


class TestSubproc(CollectorConformance):
    collector = "tianshou-subproc"
    patience = 45.0


class TestShmem(CollectorConformance):
    collector = "tianshou-shmem"
    patience = 45.0
