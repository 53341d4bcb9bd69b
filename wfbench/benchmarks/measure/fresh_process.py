"""Call a function in a fresh process, so that its time, memory and end are its own."""

from __future__ import annotations

from typing import Any

from wfbench.contract import CollectError, load_object
from wfbench.processes.children import parent_channel
from wfbench.processes.isolated import Isolated, IsolationError
from wfbench.processes.limits import ONE_THREAD


def call_in_fresh_process(function: str, arguments: tuple[Any, ...], limit: float) -> Any:
    """Return what the function of this import path returns for these arguments.

    Raises CollectError if it raised, took its process along, or took more than `limit` seconds.
    """
    process = Isolated("wfbench.benchmarks.measure.fresh_process", ONE_THREAD)
    try:
        answer = process.ask((function, arguments), limit)
    except IsolationError as error:
        raise CollectError(str(error)) from error
    finally:
        process.close()
    if isinstance(answer, CollectError):
        raise answer
    return answer


def main(descriptor: str) -> None:
    """Answer one request; runs in the fresh process."""
    connection = parent_channel(descriptor)
    function, arguments = connection.recv()
    try:
        answer = load_object(function)(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
        answer = CollectError(error_line(error))
    connection.send(answer)


def error_line(error: Exception) -> str:
    """Return the type and the message of an error in one line."""
    kind, message = error_parts(error)
    return f"{kind}: {message or 'no message'}"


def error_parts(error: Exception) -> tuple[str, str]:
    """Return the type and the message of an error, each in one line."""
    return type(error).__name__, " ".join(str(error).split())
