"""An executor that runs one call after the other in this process."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

from wfbench.contract import Call, News, load_object


class InProcessExecutor:
    """Continues a call while the caller waits for it."""

    width = 1
    in_process = True
    patience = math.inf

    def __init__(self) -> None:
        self._calls: dict[int, Generator[Any, None, None]] = {}

    def submit(self, key: int, call: Call) -> None:
        """Begin a call."""
        self._calls[key] = load_object(call.function)(call.argument)

    def wait(self, seconds: float) -> list[News]:  # noqa: ARG002 - it takes as long as it takes
        """Return what the oldest call yields next."""
        for key, values in self._calls.items():
            for value in values:
                return [News(key, "value", value)]
            del self._calls[key]
            return [News(key, "ended")]
        return []

    def cancel(self, key: int) -> None:
        """Stop a call where it is."""
        self._calls.pop(key).close()

    def close(self) -> None:
        """Stop every call where it is."""
        for key in list(self._calls):
            self.cancel(key)
