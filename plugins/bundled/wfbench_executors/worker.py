"""A worker process: it runs one call after the other and sends what they yield."""

from __future__ import annotations

from contextlib import suppress

from wfbench.collecting.keeping import keep_open
from wfbench.contract import load_object
from wfbench.processes.children import parent_channel


def main(descriptor: str) -> None:
    """Run calls until the executor closes its end; collectors stay open from call to call."""
    channel = parent_channel(descriptor)
    with keep_open(), suppress(EOFError, BrokenPipeError):
        while True:
            key, call = channel.recv()
            for value in load_object(call.function)(call.argument):
                channel.send((key, "value", value))
            channel.send((key, "ended", None))
