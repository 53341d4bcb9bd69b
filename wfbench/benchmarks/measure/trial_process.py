"""A trial in a live process of its own, which rests unless it is told to collect."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from wfbench.benchmarks.measure.fresh_process import error_parts
from wfbench.benchmarks.measure.live import Live
from wfbench.benchmarks.measure.model import Case, Sample, Settings
from wfbench.benchmarks.measure.trial import DEADLINES, Trial
from wfbench.contract import ship_local
from wfbench.processes.children import parent_channel
from wfbench.processes.isolated import Isolated
from wfbench.processes.limits import ONE_THREAD

_SLACK = 120.0
"""Seconds a sample has on top of its deadlines before its process counts as hung."""


class LiveTrial(Live):
    """A process that opens a case and measures it turn by turn."""

    def __init__(self) -> None:
        super().__init__(Isolated(__name__, ONE_THREAD))

    def open(self, case: Case, planned: Sample, settings: Settings) -> float:
        """Open the collector and let it collect once; return the seconds of that collect."""
        asked = case, planned.seed, settings, planned.round
        limit = DEADLINES.start + DEADLINES.step + _SLACK
        warm_up, workers = self.ask("open", ship_local(case.factory), *asked, limit=limit)
        self.adopt(workers)
        return float(warm_up)


def main(descriptor: str) -> None:
    """Answer questions until the last one; runs in the process."""
    connection = parent_channel(descriptor)
    trial: Trial | None = None
    while True:
        what, *arguments = connection.recv()
        try:
            if what == "open":
                shipment, *asked = arguments
                if shipment is not None:
                    shipment.install()
                trial = Trial(*asked)
                answer: Any = trial.warm_up, trial.workers()
            else:
                answer = getattr(trial, what)(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is a result
            if trial is not None:
                with suppress(Exception):
                    trial.close()
            connection.send(error_parts(error))
            return
        connection.send((None, answer))
        if what == "end":
            return
