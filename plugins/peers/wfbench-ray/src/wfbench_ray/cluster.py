"""The connection of this process to a cluster, shared by all who need it."""

from __future__ import annotations

import logging
import os
import random
import signal
import socket
import sys
from threading import current_thread, main_thread

import ray

from wfbench.contract import ExecutorError

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
_BREAKPOINT = "PYTHONBREAKPOINT"

_PATIENCE = 10.0
"""Seconds in which the head of a cluster must take a connection."""


class _Connection:
    users = 0
    ours = False
    """Whether it was made here, and is to be ended here."""


def connect(address: str) -> None:
    """Connect to a cluster, or start one on this machine; each call needs one `release`.

    A process that is connected stays with its cluster.
    """
    if not ray.is_initialized():
        _begin(address or os.environ.get("RAY_ADDRESS") or "local")
        _Connection.ours = True
    _Connection.users += 1


def release() -> None:
    """Disconnect after the last user; a cluster started here ends."""
    _Connection.users -= 1
    if not _Connection.users and _Connection.ours:
        _Connection.ours = False
        ray.shutdown()


def cores() -> int:
    """Return the cores of the whole cluster, as Ray counts them."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def import_path() -> list[str]:
    """Return the import path of this process, for others to use."""
    return [entry for entry in sys.path if entry]


def extend_import_path(path: list[str]) -> None:
    """Let this process import what the one with this path can."""
    sys.path.extend(entry for entry in path if entry not in sys.path)


def _begin(address: str) -> None:
    _refuse_nobody(address)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    debugger = os.environ.get(_BREAKPOINT)
    handler, drawn = signal.getsignal(signal.SIGTERM), random.getstate()
    try:
        ray.init(
            address=address,
            include_dashboard=False if address == "local" else None,
            configure_logging=False,
            logging_level=logging.ERROR,
            log_to_driver=False,
        )
    except Exception as error:
        raise _nobody(address, error) from error
    finally:
        # Ray draws from the global generator, takes over breakpoint() and replaces the handler.
        random.setstate(drawn)
        if not debugger:
            os.environ.pop(_BREAKPOINT, None)
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)


def _refuse_nobody(address: str) -> None:
    """Raise ExecutorError if nobody listens there: Ray itself would try for many minutes."""
    where, colon, port = address.rpartition(":")
    if not colon or "/" in where or not port.isdigit():
        return
    try:
        socket.create_connection((where, int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise _nobody(address, error) from error


def _nobody(address: str, error: Exception) -> ExecutorError:
    line = " ".join(str(error).split())
    return ExecutorError(f"there is no Ray cluster at {address!r}: {line}")
