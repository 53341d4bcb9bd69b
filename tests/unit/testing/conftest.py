"""Promises of a collector put to it in this process, which is faster than the kit and as strict."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from wfbench.contract import CollectorSpec
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.testing import PromiseResult
from wfbench.testing.collector_promises import COLLECTOR
from wfbench.testing.harness.subject import CollectorUnderTest, SubjectRef

HERE = "wfbench_unit_subjects"


@pytest.fixture(scope="session")
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


@pytest.fixture
def subject_of(
    host: PluginHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., CollectorUnderTest]:
    """Put a collector's class where a check looks for it."""
    module = ModuleType(HERE)
    monkeypatch.setitem(sys.modules, HERE, module)

    def make(collector: type, *capabilities: str, options: type | None = None) -> Any:
        setattr(module, collector.__name__, collector)
        spec = CollectorSpec(
            name="subject",
            summary="x",
            factory=f"{HERE}:{collector.__name__}",
            capabilities=frozenset(capabilities),
            options=options,
        )
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        return CollectorUnderTest(spec, SubjectRef.of(spec, {}), host, scratch)

    return make


@pytest.fixture
def judge(subject_of: Callable[..., CollectorUnderTest]) -> Callable[..., PromiseResult]:
    """Put a collector's class to one promise."""

    def test(collector: type, slug: str, *capabilities: str, **given: Any) -> PromiseResult:
        declared = capabilities or ("deterministic",)
        subject = subject_of(collector, *declared, **given)
        return COLLECTOR.by_slug[slug].test(subject, subject.spec.capabilities)

    return test


class Clock(SimpleNamespace):
    """A clock that only moves when it is told to, or when somebody sleeps by it."""

    def __init__(self) -> None:
        super().__init__(now=1000.0, slept=[], numbers=itertools.count())

    def time(self) -> float:
        return self.now

    monotonic = perf_counter = time

    def monotonic_ns(self) -> int:
        return next(self.numbers)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let the promises read this clock instead of the machine's."""
    from wfbench.testing.collector_promises import delivery, faults, isolation, resets
    from wfbench.testing.harness import fault_child, footprint, subject

    made = Clock()
    for module in (delivery, faults, isolation, resets, fault_child, footprint, subject):
        monkeypatch.setattr(module, "time", made)
    return made
