"""A process that collects until it is ended from outside."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

from wfbench.processes.children import parent_channel

from .subject import POLICY


def main(descriptor: str) -> None:
    """Collect with the subject and the plan it is sent, until interrupted; close in good order."""
    # A shell lets what it starts in the background ignore Ctrl-C, which is what is tested here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    channel = parent_channel(descriptor)
    ref, plan = channel.recv()
    with contextlib.suppress(KeyboardInterrupt), ref.load(Path()).opened(plan) as collector:
        channel.send("ready")
        while True:
            collector.collect(POLICY, 1)
