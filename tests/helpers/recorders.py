"""What stands for a function that would measure or train for long."""

from __future__ import annotations

from typing import Any

import pytest


class Recorder:
    """Stands for a function: keeps what it was called with, and returns what it was told to."""

    def __init__(self, found: object) -> None:
        self.found = found
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **given: Any) -> object:
        self.calls.append((args, given))
        return self.found


def put_instead(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, found: object = None
) -> Recorder:
    """Put a recorder in the place of a function until the test ends."""
    recorder = Recorder(found)
    monkeypatch.setattr(module, name, recorder)
    return recorder
