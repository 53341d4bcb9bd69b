"""Bench runs that nobody measured."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from wfbench.benchmarks.measure.model import PHASES, Case, Measurement, Sample, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.contract import EnvRef

MEASURED = Measurement(
    *(0.5, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, dict.fromkeys(PHASES, 0.25)),
    *(0, 0, 0, 0, 0.0, 0, (), "h", False),
)
CASES = [
    Case(label, "made:C", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)
    for label in ("first", "second")
]


def make_runs(out: Path) -> Path:
    """Write three bench runs, of which the last one is slow, and return their folder."""
    for number, wall in enumerate((1.0, 1.0, 2.0), start=1):
        with SessionWriter(out, f"b{number}", CASES, Settings(rounds=4)) as writer:
            for place in range(8):
                case, taken = place % 2, wall if place % 2 else 1.0
                measured = dataclasses.replace(MEASURED, wall=taken * (1 + 0.001 * place))
                writer.record(Sample(case, place // 2, place, 0, measurement=measured))
        config = writer.path / "config.json"
        values = json.loads(config.read_text()) | {"created": f"2026-01-0{number}T00:00:00"}
        config.write_text(json.dumps(values))
    return out
