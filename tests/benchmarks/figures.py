"""Measure every figure of docs/results.md in one go, and write them there and into README.md.

    python tests/benchmarks/figures.py                  # 20 to 25 minutes on two quiet cores
    python tests/benchmarks/figures.py --only joint     # one part again
    python tests/benchmarks/figures.py --long           # trainings of ten minutes, too
    python tests/benchmarks/figures.py --against-wfbench /path/to/older/bin/wfbench

Every part is kept in results/figures.json as soon as it is measured, with commit, machine and
commands. Parts of the present commit are not measured again, so an interrupted evening goes on. The
documents are written only from parts of one commit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import figures_text

ROOT = Path(__file__).parents[2]
OURS = str(Path(sys.executable).with_name("wfbench"))
REDS = ("bline", "meander")
TINY = ("--max-episodes", "2", "--min-episodes", "1", "--workflows", "2")
"""Flags that make a search with one training per order as short as it can be."""


@dataclass
class Lab:
    """Runs commands in an empty folder and keeps what was run, for the record."""

    smoke: bool
    other: str | None
    folder: Path
    to: Path
    """Where README.md, docs and results are written."""
    commands: list[str] = field(default_factory=list)

    def tell(
        self, *arguments: str, program: str = OURS, **variables: str
    ) -> tuple[dict[str, Any], float, float]:
        """Return the JSON answer of a command, its seconds, and the memory of its process in MB."""
        shown = "wfbench" if program == OURS else "older wfbench"
        self.commands.append(" ".join([shown, *arguments]))
        print("  ", self.commands[-1], flush=True)
        number = len(list(self.folder.iterdir()))
        out, log = self.folder / f"{number}.json", self.folder / f"{number}.log"
        environ = {**os.environ, **variables}
        began = time.perf_counter()
        with out.open("wb") as answer, log.open("wb") as errors:
            given = [program, *arguments, "--json"]
            process = subprocess.Popen(
                given, stdout=answer, stderr=errors, cwd=self.folder, env=environ
            )
            _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{self.commands[-1]} failed:\n{log.read_text()[-2000:]}")
        return json.loads(out.read_text()), seconds, used.ru_maxrss / 1024

    def search(self, *arguments: str) -> tuple[dict[str, Any], float, float]:
        """Return the only run of a search, its seconds and its memory; tiny with --smoke."""
        joint = ("--joint-episodes", "2", "--seeds", "2", "--free", "0", "--specialise", "1")
        small = (TINY if "--preset" in arguments else joint) if self.smoke else ()
        answer, seconds, memory = self.tell("run", *arguments, *small)
        return answer["runs"][0], seconds, memory

    def pytest(self, file: str, *more: str) -> dict[str, dict[str, Any]]:
        """Return statistics and notes of every benchmark of a file by its name."""
        self.commands.append(f"pytest tests/benchmarks/{file} --benchmark-only")
        print("  ", self.commands[-1], flush=True)
        out = self.folder / f"{file}.json"
        quick = ("--benchmark-max-time=0.1", "--benchmark-min-rounds=1") if self.smoke else ()
        given = [f"tests/benchmarks/{file}", "--benchmark-only", f"--benchmark-json={out}", "-q"]
        command = [sys.executable, "-m", "pytest", *given, *quick, *more]
        subprocess.run(command, cwd=ROOT, check=not self.smoke, stdout=subprocess.DEVNULL)
        found = json.loads(out.read_text())["benchmarks"]
        return {one["name"]: {**one["stats"], **one["extra_info"]} for one in found}


def throughput(lab: Lab) -> Any:
    """Measure the bundled collectors on 200 environments."""
    names = ("sequential", "pipe", "shm", "async", "vector")
    chosen = [flag for name in names for flag in ("--collector", name)]
    size = ("--n-envs", "4", "--smoke") if lab.smoke else ("--n-envs", "200")
    answer, _, _ = lab.tell("bench", *chosen, "--env", "cage2", *size)
    return [
        {
            "collector": one["label"],
            **{end: one["figures"]["rate"][end] for end in ("low", "high")},
            "rate": one["figures"]["rate"]["value"],
            **{name: one["figures"][name] for name in ("cpu_us", "memory", "start_up")},
        }
        for one in answer["summaries"]
    ]


def environment(lab: Lab) -> Any:
    """Measure the kernel and the environment's public forms."""
    found = lab.pytest("test_cage2.py")
    rates = {red: found[f"test_batched_step[200-{red}]"]["steps_per_second"] for red in REDS}
    growth = found["test_time_per_step_is_flat_from_200_to_20000_envs"]
    return {
        "steps_per_second": rates,
        "growth": growth["time_per_step_20000_over_200"],
        "step_us": found["test_scalar_step"]["microseconds_per_step"],
        "reset_us": 1e6 * found["test_scalar_reset"]["min"],
        "first_step": found["test_first_step_of_a_fresh_process_with_a_warm_cache"]["median"],
    }


def _joint_row(lab: Lab, red: str, run: dict[str, Any], seconds: float) -> dict[str, Any]:
    log = lab.folder / run["path"] / "events.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    answered = [event["time"]["elapsed"] for event in events if event.get("says")]
    choices, work = run["answer"]["choices"], run["work_seconds"]
    return {
        "red": red,
        "first": min(answered, default=None),
        "seconds": seconds,
        "return": run["answer"]["mean_return"],
        "followed": len(choices["followed"]),
        "untested": len(choices["untested"]),
        "opening": work["start_up"] / sum(work.values()),
        "says": run["conclusion"][0],
    }


def joint(lab: Lab) -> Any:
    """Time the first command of the README against every red agent."""
    found = []
    for red in (*REDS, "sleep"):
        run, seconds, _ = lab.search("--collector", "shm", "--n-envs", "200", "--red", red)
        found.append(_joint_row(lab, red, run, seconds))
    return found


def documented(lab: Lab) -> Any:
    """Time the documented configuration, start to report."""
    found = []
    for red in REDS:
        _, seconds, memory = lab.search("--preset", "documented-200", "--red", red)
        found.append({"red": red, "seconds": seconds, "memory_mb": memory})
    return found


def per_order(lab: Lab) -> Any:
    """Train each order by itself with the whole documented budget."""
    found = []
    for red in REDS:
        run, seconds, _ = lab.search("--preset", "per-order", "--stop", "budget", "--red", red)
        best = run["best"]["score"] if run["best"] else float("nan")
        trainings = sum(one["trainings"] for one in run["orders"])
        counts = {"compliant": run["compliant"], "trainings": trainings}
        found.append({"red": red, "seconds": seconds, "best": best, **counts})
    return found


def learning(lab: Lab) -> Any:
    """Measure the documented PPO from end to end on one thread."""
    found = lab.pytest("test_training.py")
    names = ("transitions/s", "times the CPU time")
    return {
        red: {name: one[name] for name in names}
        for red in REDS
        for key, one in found.items()
        if f"[{red}" in key and names[0] in one
    }


def update(lab: Lab) -> Any:
    """Measure updates: distinct rows, compiled passes, one and two threads."""
    found = lab.pytest("test_update.py")
    plain = ("CPU ms", "times")
    return {
        name: {key: value for key, value in one.items() if str(key).startswith(plain)}
        for name, one in found.items()
    }


def best(lab: Lab) -> Any:
    """Train the best policies, time it, and play them on fresh seeds."""
    found = []
    for red in REDS:
        run, seconds, _ = lab.search("--preset", "best", "--red", red, "--name", f"best-{red}")
        episodes = "20" if lab.smoke else "4000"
        played, _, _ = lab.tell("evaluate", run["run"], "--red", red, "--episodes", episodes)
        returns = [cell["env_return"] for cell in played["cells"]]
        found.append({"red": red, "seconds": seconds, "returns": returns})
    return found


def scaling(lab: Lab) -> Any:
    """Measure growth with environments and workers, and check the prediction for more cores.

    Environments that sleep need no core, so the check has as many cores as workers.
    """
    names = ("sequential", "shm", "async", "vector", "pipe")
    chosen = [flag for name in names for flag in ("--collector", name)]
    tiny = ("--smoke",) if lab.smoke else ()
    grown, _, _ = lab.tell("bench", "--scaling", "--env", "cage2", *chosen, *tiny)
    report = ("report", grown["run"], "--md", "--to", str(lab.to / "results" / "scaling.md"))
    subprocess.run([OURS, *report], cwd=lab.folder, check=True, stdout=subprocess.DEVNULL)
    asleep = "synthetic:costs=cyborg,construct=0,busy=false"
    size, workers = ("8", "1,2,8") if lab.smoke else ("64", "1,2,3,4,8,16,32,64")
    counts = ("--n-envs", size, "--workers", workers, "--steps", "10")
    check, _, _ = lab.tell("bench", "--scaling", "--env", asleep, "--collector", "shm", *counts)
    return [
        {name: value[name] for name in ("workers", "rate", "measured")}
        for found in check["scaling"]["costs"]
        for value in found["predictions"]
        if value["where"] == "here"
    ]


def start(lab: Lab) -> Any:
    """Time the first run on a machine, which compiles, and the same run again, three times each."""
    first, again = [], []
    for _ in range(1 if lab.smoke else 3):
        with tempfile.TemporaryDirectory(prefix="figures-") as cache:
            for times in (first, again):
                times.append(lab.tell("run", "--smoke", NUMBA_CACHE_DIR=cache)[1])
    return {"first": median(first), "again": median(again)}


def longer(lab: Lab) -> Any:
    """Train one policy for all orders for ten minutes."""
    common = ("--seeds", "1", "--free", "0", "--specialise", "1", "--joint-episodes", "1000")
    more = ("--lambda-end", "0.33", "--max-episodes", "1000", "--collector", "vector")
    chosen = ("--smoke",) if lab.smoke else (*common, *more)
    found = []
    for red in REDS:
        answer, seconds, _ = lab.tell("run", "--red", red, *chosen)
        found.append(_joint_row(lab, red, answer["runs"][0], seconds))
    return found


def against(lab: Lab) -> Any:
    """Time three commands beside another release, one after the other in the same minutes."""
    assert lab.other is not None
    shm = ("--collector", "shm", "--n-envs", "200")
    pairs = {
        "one training per order": (("--preset", "per-order", *shm), shm),
        "documented-200": (("--preset", "documented-200"),) * 2,
        "best": (("--preset", "best"),) * 2,
    }
    tiny = TINY if lab.smoke else ()
    found = []
    for what, (ours, theirs) in pairs.items():
        taken: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(1 if what == "best" or lab.smoke else 3):
            taken["theirs"].append(lab.tell("run", *theirs, *tiny, program=lab.other)[1])
            taken["ours"].append(lab.tell("run", *ours, *tiny)[1])
        found.append({"what": what, **{side: min(times) for side, times in taken.items()}})
    return found


PARTS: dict[str, Callable[[Lab], Any]] = {
    "start": start,
    "throughput": throughput,
    "environment": environment,
    "learning": learning,
    "update": update,
    "documented": documented,
    "joint": joint,
    "per-order": per_order,
    "best": best,
    "scaling": scaling,
}
EXTRA = {"longer": longer, "against": against}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _commit() -> str:
    measured = ("wfbench", "plugins", "tests/benchmarks")
    changed = " with changes" if _git("status", "--porcelain", "--", *measured) else ""
    return _git("rev-parse", "--short=10", "HEAD") + changed


def _machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return f"{models[0] if models else platform.processor()}, {cores} cores"


def main(given: Sequence[str] | None = None) -> None:
    """Measure what is missing, keep it, and write the documents."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=[*PARTS, *EXTRA], action="append")
    parser.add_argument("--long", action="store_true", help="trainings of ten minutes, too")
    parser.add_argument(
        "--against-wfbench", metavar="PATH", help="an executable to time beside ours"
    )
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; needs --to")
    parser.add_argument("--to", type=Path, default=ROOT, help="folder of README.md, docs, results")
    asked = parser.parse_args(given)
    if asked.smoke and asked.to.resolve() == ROOT:
        parser.error(
            "--smoke measures nothing that may be published: choose another folder by --to"
        )
    if asked.only == ["against"] and not asked.against_wfbench:
        parser.error("against needs --against-wfbench")
    file = asked.to / "results" / "figures.json"
    parts = json.loads(file.read_text()) if file.exists() else {}
    commit, machine = _commit(), _machine()
    wanted = [*PARTS, *(["longer"] if asked.long else [])]
    wanted += ["against"] if asked.against_wfbench else []
    with tempfile.TemporaryDirectory(prefix="figures-") as folder:
        for name in asked.only or wanted:
            if not asked.only and parts.get(name, {}).get("commit") == commit:
                continue
            print(f"{name}:", flush=True)
            lab = Lab(asked.smoke, asked.against_wfbench, Path(folder), asked.to.resolve())
            began = time.perf_counter()
            values = {**PARTS, **EXTRA}[name](lab)
            taken = {"seconds": round(time.perf_counter() - began, 1), "values": values}
            parts[name] = {"commit": commit, "machine": machine, "commands": lab.commands, **taken}
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(parts, indent=1) + "\n")
    present = {name: part for name, part in parts.items() if part["commit"] == commit}
    missing = [name for name in PARTS if name not in present]
    if missing:
        raise SystemExit(f"not written: {', '.join(missing)} must be measured at this commit, too")
    file.write_text(json.dumps(present, indent=1) + "\n")
    figures_text.write(asked.to, present)


if __name__ == "__main__":
    main()
