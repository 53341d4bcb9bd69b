"""Keep a baseline, check against it later, and fail if a collector got slower."""

from __future__ import annotations

import os
import sys

import wfbench

SMOKE = os.environ.get("WFBENCH_EXAMPLES_SMOKE") == "1"
ROUNDS, SECONDS = (4, 0.05) if SMOKE else (10, 0.5)

if __name__ == "__main__":
    measured = wfbench.bench(
        collector=["sequential", "vector"], n_envs=8, rounds=ROUNDS, seconds=SECONDS
    )
    # Without force, a run of a busy machine is refused: a check against it would not be fair.
    baseline = wfbench.save_baseline("example", measured.path, replace=True, force=SMOKE)
    print(baseline)
    checked = wfbench.check("example")
    checked.show()
    checked.save("gate.md")
    print("passed" if checked.passed else f"not passed: {checked.exit_code.name}")
    sys.exit(0 if SMOKE else checked.exit_code)
