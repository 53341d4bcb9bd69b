"""A laboratory with the bundled plugins, and claims that need next to nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wfbench.benchmarks.reproduce.laboratory import Laboratory
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins


@pytest.fixture(scope="session")
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def make_lab(host: PluginHost, lines: list[str]) -> Callable[..., Laboratory]:
    def make(seed: int = 0, *, quick: bool = True, of: PluginHost = host) -> Laboratory:
        return Laboratory(of, seed=seed, quick=quick, say=lines.append)

    return make
