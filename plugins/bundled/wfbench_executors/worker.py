"""A worker process: it runs one call after the other and sends what they yield."""

from __future__ import annotations

from wfbench.contract import load_object
from wfbench.processes.children import parent_channel


def main(descriptor: str) -> None:
    """Run calls until the executor closes its end."""
    channel = parent_channel(descriptor)
    try:
        while True:
            call = channel.recv()
            for value in load_object(call.function)(call.argument):
                channel.send(("value", value))
            channel.send(("ended", None))
    except (EOFError, BrokenPipeError):
        return
