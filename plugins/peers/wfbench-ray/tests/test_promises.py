"""The promises of a collector, one test each, on a cluster that outlives them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from wfbench.testing import CollectorConformance


@pytest.fixture(scope="module", autouse=True)
def address(cluster: Any) -> Iterator[None]:
    """Let the judging process find the cluster."""
    os.environ["RAY_ADDRESS"] = cluster.address
    yield
    del os.environ["RAY_ADDRESS"]


class TestRay(CollectorConformance):
    """Of the collector `ray`."""

    collector = "ray"
