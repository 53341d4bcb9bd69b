"""Descriptors of collectors that break promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wfbench.contract import CollectorSpec


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CollectorSpec]]:
    """Descriptors of `bad_collectors`, importable from the judging process too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    from bad_collectors import SEGMENT

    def spec(name: str, *capabilities: str, options: type | None = None) -> CollectorSpec:
        return CollectorSpec(
            name="bad",
            summary="breaks one promise",
            factory=f"bad_collectors:{name}",
            capabilities=frozenset({"deterministic", *capabilities}),
            options=options,
        )

    yield spec
    for left in Path("/dev/shm").glob(f"{SEGMENT}_*"):  # noqa: S108 - what a bad collector leaked
        left.unlink()
