"""How often `wfbench check --against` finds a planted slow-down, and how often it finds none.

    python tests/benchmarks/gate_power.py --tries 20 --busy --to FOLDER

Plants a busy wait of a share of each collect in copies of this project and of the plugin in
`tests/data/threads-plugin`: in one collector, in code that all share, and nowhere (a comment). With
`--busy` another program uses a whole core meanwhile. Every try is one check of real processes and
takes a minute or two. `results/gate-power.jsonl` has a line per try, and a later call
goes on unless the gate has changed since. With `--replay 1000` nothing is measured: so many checks
of each scenario are judged by the same code, from pairs drawn at random from those in FOLDER. The
figures are in `docs/ci.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from wfbench.benchmarks.measure.turns import Turn
from wfbench.benchmarks.revisions.building import Build
from wfbench.benchmarks.revisions.model import Pair, Request, SideSample
from wfbench.benchmarks.revisions.series import Effort, compare_revisions
from wfbench.contract import ExitCode

ROOT = Path(__file__).parents[2]
WHO = ("-c", "user.name=wfbench", "-c", "user.email=wfbench@example.org")
SHARED = "wfbench/collecting/lifecycle.py"
CALL = "            return self._collect(plan, info, policy, steps)\n"
SLOWER = """\
            from time import perf_counter
            began = perf_counter()
            found = self._collect(plan, info, policy, steps)
            until = perf_counter() + {share} * (perf_counter() - began)
            while self.name in {names} and perf_counter() < until:
                pass
            return found
"""


@dataclass(frozen=True)
class Scenario:
    """What is planted where, and what is measured."""

    name: str
    project: str
    collectors: tuple[str, ...]
    slowed: tuple[str, ...] = ()
    """Empty: nothing gets slower."""


SCENARIOS = (
    Scenario("threads, unchanged", "threads", ("threads",)),
    Scenario("threads, slower", "threads", ("threads",), ("threads",)),
    Scenario("ours, unchanged", "wfbench", ("sequential", "shm")),
    Scenario("ours, shm slower", "wfbench", ("sequential", "shm"), ("shm",)),
    Scenario("ours, all slower", "wfbench", ("sequential", "shm"), ("sequential", "shm")),
)


GATE = ("revisions", "statistics", "measure/live.py", "measure/turns.py", "measure/trial.py")
"""The code that measures and judges in a check of two revisions."""

KEPT = ROOT / "results" / "gate-power.jsonl"


def git(folder: Path, *arguments: str) -> str:
    """Run git; return what it printed."""
    command = ["git", "-C", str(folder), *WHO, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def conditions(args: argparse.Namespace) -> dict[str, object]:
    """Return what tries must have in common; of the gate, the hashes of its code as committed."""
    places = [f"HEAD:wfbench/benchmarks/{place}" for place in GATE]
    gate = "-".join(one[:8] for one in git(ROOT, "rev-parse", *places).split())
    return {"gate": gate, "busy": args.busy, "share": args.share}


def copies(to: Path) -> None:
    """Make a repository of each project, unless they are there."""
    if not (to / "wfbench").exists():
        git(ROOT, "clone", "--quiet", "--shared", str(ROOT), str(to / "wfbench"))
    if not (to / "threads").exists():
        shutil.copytree(ROOT / "tests" / "data" / "threads-plugin", to / "threads")
        git(to / "threads", "init", "--quiet")
        git(to / "threads", "add", "--all")
        git(to / "threads", "commit", "--quiet", "--message", "Begin")


def plant(scenario: Scenario, folder: Path, share: float) -> None:
    """Change the working tree: a slow-down, or a comment that changes nothing."""
    git(folder, "checkout", "--quiet", "--", ".")
    threads = scenario.project == "threads"
    file = folder / ("src/wfbench_threads/collector.py" if threads else SHARED)
    text = file.read_text()
    if not scenario.slowed:
        changed = text + "\n# A comment changes nothing.\n"
    elif threads:
        changed = text.replace("\nPLANTED = 0.0\n", f"\nPLANTED = {share}\n")
    else:
        changed = text.replace(CALL, SLOWER.format(share=share, names=scenario.slowed))
    if changed == text:
        sys.exit(f"{file} has no place for a slow-down; adapt this script")
    file.write_text(changed)


Try = dict[str, object]


def attempt(
    scenario: Scenario, to: Path, args: argparse.Namespace, number: int
) -> dict[str, object]:
    """Check once; return what came of it."""
    folder, out = to / scenario.project, to / "checks" / f"{scenario.name}, {number}"
    plant(scenario, folder, args.share)
    options = [part for name in scenario.collectors for part in ("--collector", name)]
    options += ["--detect", f"{args.share:.0%}", "--budget", args.budget, "--out", str(out)]
    began = monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "wfbench", "check", "--against", "HEAD", *options],
        cwd=folder,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    verdict = json.loads((out / "verdict.json").read_text())
    return {
        **conditions(args),
        "scenario": scenario.name,
        "exit_code": done.returncode,
        "seconds": round(monotonic() - began),
        "says": verdict["headline"],
        "notes": verdict["notes"],
    }


def table(tries: list[Try]) -> str:
    lines = ["| scenario | tries | failed | inconclusive | mean seconds |", "|---|---|---|---|---|"]
    for scenario in SCENARIOS:
        found = [one for one in tries if one["scenario"] == scenario.name]
        if found:
            failed = sum(one["exit_code"] == 1 for one in found)
            unknown = sum("inconclusive" in str(one["says"]) for one in found)
            seconds = sum(int(str(one["seconds"])) for one in found) / len(found)
            row = (scenario.name, len(found), failed, unknown, f"{seconds:.0f}")
            lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def replay(scenario: Scenario, to: Path, share: float, checks: int) -> str:
    """Judge checks made of the pairs that were measured; return a row of what came of them."""
    pool: dict[str, list[Pair]] = {}
    for file in sorted(to.glob(f"checks/{scenario.name}, */pairs.jsonl")):
        for line in map(json.loads, file.read_text().splitlines()):
            pool.setdefault(line["label"], []).append(decode_pair(line))
    builds = [Build(name, "", to, scenario.project) for name in ("old", "new")]
    requests = [Request(name) for name in scenario.collectors]
    if not all(pool.get(one.label) for one in requests):
        return f"| {scenario.name} | 0 |"
    draw = Random(0)  # noqa: S311 (no secret)

    def measure(request: Request, planned: Pair) -> Pair:
        found = draw.choice(pool[request.label])
        return replace(found, case=planned.case, round=planned.round)

    effort = Effort(detect=share)
    codes = [
        compare_revisions(requests, (builds[0], builds[1]), effort, measure).exit_code(
            inconclusive_fails=True
        )
        for _ in range(checks)
    ]
    failed, unknown = (codes.count(code) for code in (ExitCode.REGRESSION, ExitCode.INCONCLUSIVE))
    pairs = sum(len(pool[one.label]) for one in requests)
    return f"| {scenario.name} | {pairs} | {failed / checks:.1%} | {unknown / checks:.1%} |"


def decode_pair(line: dict[str, Any]) -> Pair:
    """Return a pair as it was measured."""
    old, new = (
        SideSample(
            side["start_up"], side["memory"], tuple(Turn(*t) for t in side["turns"]), side["proof"]
        )
        for side in (line["old"], line["new"])
    )
    return Pair(line["case"], line["round"], line["seed"], line["steps"], old, new)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--replay", type=int, metavar="CHECKS", help="judge pairs of FOLDER again")
    parser.add_argument("--busy", action="store_true", help="use a whole core meanwhile")
    args = parser.parse_args()
    args.to = args.to.resolve()
    if args.replay:
        print("| scenario | pairs | failed | inconclusive |\n|---|---|---|---|")
        for scenario in SCENARIOS:
            print(replay(scenario, args.to, args.share, args.replay), flush=True)
        return
    args.to.mkdir(parents=True, exist_ok=True)
    copies(args.to)
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    same = conditions(args).items()
    tries = [one for one in map(json.loads, lines) if same <= one.items()]
    spin = [sys.executable, "-c", "while True: pass"]
    other = subprocess.Popen(spin, start_new_session=True) if args.busy else None
    try:
        for number in range(args.tries):
            for scenario in SCENARIOS:
                if sum(one["scenario"] == scenario.name for one in tries) > number:
                    continue
                tries.append(attempt(scenario, args.to, args, number))
                with KEPT.open("a") as file:
                    file.write(json.dumps(tries[-1]) + "\n")
            print(table(tries), end="\n\n", flush=True)
    finally:
        if other is not None:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main()
