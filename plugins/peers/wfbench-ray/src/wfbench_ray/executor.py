"""Calls as Ray tasks that stream what they yield."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ray
from ray.exceptions import RayError

from wfbench.contract import Call, News, load_object

from .cluster import connect, cores, extend_import_path, import_path, release

_LONGEST = 200


class RayExecutor:
    """One task per call. Ray places it; a lost one is reported and never retried here."""

    in_process = False

    def __init__(
        self, *, address: str = "", workers: int = 0, cpus: float = 1.0, patience: float = 1800.0
    ) -> None:
        connect(address)
        self._connected = True
        self.width = workers or max(1, int(cores() / cpus))
        self.patience = patience
        # A task whose worker or node dies is not repeated by Ray: half of what it yielded may have
        # been received, and only whoever submitted it knows what to do about that.
        self._stream = ray.remote(
            num_cpus=cpus, max_retries=0, num_returns="streaming", scheduling_strategy="SPREAD"
        )(_stream)
        self._calls: dict[int, Any] = {}

    def submit(self, key: int, call: Call) -> None:
        """Begin a call."""
        self._calls[key] = self._stream.remote(call, import_path())

    def wait(self, seconds: float) -> list[News]:
        """Return what calls have sent since."""
        keys = {id(stream): key for key, stream in self._calls.items()}
        ready, _ = ray.wait(
            list(self._calls.values()), num_returns=1, timeout=seconds, fetch_local=False
        )
        return [self._receive(keys[id(stream)], stream) for stream in ready]

    def cancel(self, key: int) -> None:
        """Kill the worker that runs a call."""
        ray.cancel(self._calls.pop(key), force=True)

    def close(self) -> None:
        """End every call, and the cluster if it was started here."""
        if self._connected:
            self._connected = False
            for key in list(self._calls):
                self.cancel(key)
            release()

    def _receive(self, key: int, stream: Any) -> News:
        try:
            return News(key, "value", ray.get(next(stream)))
        except StopIteration:
            del self._calls[key]
            return News(key, "ended")
        except RayError as error:
            del self._calls[key]
            return News(key, "lost", f"{type(error).__name__} ({_line(error)})")


def _stream(call: Call, path: list[str]) -> Iterator[Any]:
    extend_import_path(path)
    for value in load_object(call.function)(call.argument):  # noqa: UP028 - Ray sends values in
        yield value


def _line(error: RayError) -> str:
    first = str(error).strip().partition("\n")[0]
    return first.partition(". ")[0][:_LONGEST]
