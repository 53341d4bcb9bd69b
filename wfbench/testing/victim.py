"""A process that collects until it is ended from outside."""

from __future__ import annotations

import contextlib
import pickle
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import CollectorSpec, Plan, load_object
from wfbench.options import resolve_options
from wfbench.policies import RandomPolicy


@dataclass(frozen=True)
class Victim:
    """What to collect, and the file that says that it has begun."""

    spec: CollectorSpec
    options: dict[str, Any]
    plan: Plan
    ready: Path

    def write(self, path: Path) -> None:
        """Leave the order for the process to be started."""
        path.write_bytes(pickle.dumps(self))

    def run(self) -> None:
        """Collect until interrupted; then close in good order."""
        collector = load_object(self.spec.factory)(**resolve_options(self.spec, self.options))
        with contextlib.suppress(KeyboardInterrupt), collector:
            info = collector.open(self.plan)
            policy = RandomPolicy(info.num_actions)
            self.ready.touch()
            while True:
                collector.collect(policy, 1)


def main(path: str) -> None:
    """Carry out the order left at `path`."""
    # A shell lets what it starts in the background ignore Ctrl-C, which is what is tested here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pickle.loads(Path(path).read_bytes()).run()  # noqa: S301 (written by the check that started us)
