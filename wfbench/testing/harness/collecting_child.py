"""A process that collects until it is ended from outside."""

from __future__ import annotations

import contextlib
import pickle
import signal
from pathlib import Path

from .subject import POLICY


def main(path: str) -> None:
    """Collect by the request in this directory until interrupted; then close in good order.

    Its file `request` holds what to collect with and the plan; `ready` says that it has begun.
    """
    # A shell lets what it starts in the background ignore Ctrl-C, which is what is tested here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(path)
    ref, plan = pickle.loads((folder / "request").read_bytes())  # noqa: S301 (of our own check)
    subject = ref.load(folder)
    with contextlib.suppress(KeyboardInterrupt), subject.opened(plan) as collector:
        (folder / "ready").touch()
        while True:
            collector.collect(POLICY, 1)
