"""How often the gate fails although nothing has changed: the same code against itself.

    python tests/benchmarks/false_alarms.py --tries 20 --to FOLDER

Measures once more for every try and checks it against the try before. It takes about a minute per
try; the figures are in `docs/ci.md`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path


def wfbench(*args: str) -> int:
    return subprocess.run([sys.executable, "-m", "wfbench", *args], check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--collectors", nargs="+", default=["sequential", "shm", "async", "vector"])
    parser.add_argument("--n-envs", default="25")
    parser.add_argument("--rounds", default="6")
    parser.add_argument("--seconds", default="0.3")
    args = parser.parse_args()
    runs, baselines = args.to / "runs", args.to / "baselines"
    chosen = [part for name in args.collectors for part in ("--collector", name)]
    wfbench(
        *("bench", *chosen, "--n-envs", args.n_envs, "--rounds", args.rounds),
        *("--seconds", args.seconds, "--out", str(runs), "--name", "first"),
    )
    last, codes, words = runs / "first", Counter[int](), Counter[str]()
    for number in range(args.tries):
        name, out = f"try-{number:02d}", args.to / f"check-{number:02d}"
        if wfbench("baseline", "save", name, str(last), "--baselines", str(baselines)):
            sys.exit(f"{last} is not fit to be a baseline")
        codes[
            wfbench("check", "--baseline", str(baselines / f"{name}.json"), "--out", str(out))
        ] += 1
        verdict = json.loads((out / "verdict.json").read_text())
        words.update(cell["verdict"] for cell in verdict["cells"])
        last = min((out / "runs").iterdir())
        sys.stdout.write(f"{number + 1} tries: exit codes {dict(codes)}, cells {dict(words)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
