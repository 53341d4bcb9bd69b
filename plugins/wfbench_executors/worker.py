"""A worker process: it runs one call after the other and sends what they yield."""

from __future__ import annotations

import ctypes
import signal
import socket
import sys

from wfbench.contract import load_object

from .wire import Inbox, encoded

_PR_SET_PDEATHSIG = 1


def main(descriptor: int) -> None:
    """Serve until the other end is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    stream = socket.socket(fileno=descriptor)
    inbox = Inbox(stream)
    try:
        while True:
            for call in inbox.receive(block=True):
                for value in load_object(call.function)(call.argument):
                    stream.sendall(encoded(("value", value)))
                stream.sendall(encoded(("ended", None)))
    except (EOFError, BrokenPipeError):
        return
