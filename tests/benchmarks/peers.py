"""Measure ours and every installed peer side by side; write peers.md, peers.json and peers.svg.

    python tests/benchmarks/peers.py                              # three rounds
    python tests/benchmarks/peers.py --rounds 2                   # 31 minutes on two quiet cores
    python tests/benchmarks/peers.py --only learning              # one part
    python tests/benchmarks/peers.py --smoke --to DIR --runs DIR  # does it work at all?

Complete runs in `--runs` are not measured again, so an interrupted evening goes on and the parts
may be measured one by one: remove the runs to measure anew.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import wfbench
from wfbench.benchmarks.measure.model import PHASES
from wfbench.benchmarks.measure.summary import CaseSummary, Figures
from wfbench.benchmarks.statistics.intervals import mean_estimate
from wfbench.report import document as doc
from wfbench.report.catalogue import describe_run
from wfbench.report.formats.choosing import as_data
from wfbench.report.formats.html import standalone_svg
from wfbench.report.formats.markdown import whole_markdown
from wfbench.report.sections.bench import saved_bench_section
from wfbench.report.sections.common import table, worst
from wfbench.store.files import write_json, write_whole

ROOT = Path(__file__).parents[2]
OURS = ("async", "pipe", "sequential", "shm", "vector")
SLICES = (
    *("sequential", "shm", "async", "vector"),
    *("gym-sync", "ray", "sb3-dummy", "tianshou-dummy"),
)
"""Those that put many environments into a process."""
PROCESSES = ("pipe", "gym-async", "sb3-subproc", "tianshou-shmem", "torchrl-parallel")
"""Those with a process per environment; of each library the way it documents as fastest."""
OTHERS = ("tianshou-subproc", "torchrl-collector")
"""The other ways of these libraries, measured with the fewest environments only."""
ENVS = {
    "cage2": "cage2",
    "0 µs": "synthetic:step=0",
    "500 µs": "synthetic:step=0.0005",
}
TRAINERS = (
    "ppo:entropy=0.01,lr_end=0.1,minibatches=8,privileged=false",
    "ppo-parallel",
    "sb3-ppo:lr=0.0003,epochs=10,gamma=0.99,clip=0.2",
    "cleanrl-ppo:lr=0.00025,epochs=4,gamma=0.99,clip=0.2",
    "rllib-ppo:lr=0.0003,epochs=6,gamma=0.99,clip=0.3,value_clip=10000,hidden=64",
)
"""Ours, the documented one, and the peers with settings of their libraries' examples.

RLlib's networks have our size, and its value loss is not cut off: returns are large here.
"""
EPISODES, RECENT, POINTS = 1600, 5, 60
"""Episodes of each environment, updates that a return is the mean of, and points of a line."""
READING = f"Mean of three seeds with its 95 % interval, each of the last {RECENT} updates."
MADE_BY = f"Made by `{shlex.join(['python', *sys.argv])}`.\n"
WORDS = {"env_steps": "environment steps", "elapsed_seconds": "seconds"}
FigureOf = dict[tuple[str, int], Figures]
"""What was measured of a collector with so many environments."""
Curves = dict[str, list[list[dict[str, Any]]]]
"""The updates of each training, by the trainer's name."""


def measured(path: Path, measure: Callable[..., Any]) -> Any:
    """Return the complete run of this path; if there is none, measure it now."""
    if path.exists() and describe_run(path).status not in ("complete", "smoke", "unsound"):
        shutil.rmtree(path)
    if not path.exists():
        print(f"measuring {path.name}", flush=True)
        measure(out=path.parent, name=path.name)
    return wfbench.load_run(path)


def throughput(given: argparse.Namespace, title: str, env: str) -> doc.Section:
    """Return the rates of all collectors on an environment."""
    few, many, most = (4, 8, 16) if given.smoke else (25, 200, 1000)
    sizes = {few: (*PROCESSES, *OTHERS), many: PROCESSES, most: ()}
    cases, sections = [], []
    for count, more in sizes.items():
        path = given.runs / f"peers-{env.replace(':step=', '-')}-{count}"
        found = measured(
            path,
            lambda count=count, more=more, **place: wfbench.bench(
                collector=installed((*SLICES, *more)),
                env=env,
                n_envs=count,
                rounds=1 if given.smoke else given.rounds,
                steps=5 if count == most else 20,
                seconds=0.3,
                smoke=given.smoke,
                progress=lambda seen: print(" ", seen.text, flush=True),
                **place,
            ),
        )
        cases += found.cases
        sections.append(saved_bench_section(path))
    figures = {(one.label, one.n_envs): one.figures for one in cases if one.figures}
    counts = sorted({one.n_envs for one in cases})
    pairs = [(ours, n) for n in counts for ours in ("shm", "vector")]
    checks = tuple(_ahead(*pair, figures) for pair in pairs)
    broken = [check for part in sections for check in part.checks if check.outcome != "good"]
    against = doc.Exhibit(
        "Are shm and vector ahead of every peer?",
        "Where one is not, the row says what takes longer than in the peer.",
        table("ours | against the fastest peer", [(one.name, one.says) for one in checks]),
    )
    return doc.Section(
        f"Throughput, {title}",
        "bench",
        doc.Check("result", worst((*checks, *broken)), _said(checks[2:4])),
        checks=(*checks, *broken),
        facts=sections[0].facts,
        exhibits=(_rates(figures, counts), against),
        notes=(*_too_many(cases, counts), *_missing(), *sections[0].notes),
    )


def installed(names: Sequence[str]) -> list[str]:
    """Return those of the names that a plugin offers here."""
    offered = {row["name"] for row in wfbench.plugins().rows()}
    return [name for name in names if name.partition(":")[0] in offered]


def _missing() -> list[str]:
    names = [name.partition(":")[0] for name in (*SLICES, *PROCESSES, *OTHERS, *TRAINERS)]
    missing = [name for name in names if not installed([name])]
    return [f"Not installed, so not measured: {', '.join(missing)}."] if missing else []


def _rates(figures: FigureOf, counts: Sequence[int]) -> doc.Exhibit:
    rates = {key: found.rate for key, found in figures.items()}
    rank = {label: found.value for (label, n), found in rates.items() if n == counts[1]}
    labels = sorted({label for label, _ in rates}, key=lambda label: -rank.get(label, 0.0))
    return doc.Exhibit(
        "",
        "Transitions per second, geometric mean of the samples with its 95 % interval.",
        table(
            ["collector", *(f"{n:,} environments (transitions/s) ±" for n in counts)],
            [(label, *(rates.get((label, n)) for n in counts)) for label in labels],
        ),
        "python tests/benchmarks/peers.py --only throughput",
    )


def _said(checks: Sequence[doc.Check]) -> str:
    return "; ".join(f"{check.name}: {check.says}" for check in checks)


def _ahead(ours: str, n_envs: int, figures: FigureOf) -> doc.Check:
    """Check that one of ours is ahead of every peer; say why if it is not."""
    peers = {label: found for (label, n), found in figures.items() if n == n_envs}
    mine = peers.get(ours)
    peers = {label: found for label, found in peers.items() if label not in OURS}
    name = f"{ours}, {n_envs:,} environments"
    if not peers or mine is None:
        return doc.Check(name, "open", "could not be measured")
    best = max(peers, key=lambda label: peers[label].rate.value)
    theirs = peers[best]
    ratio = mine.rate.value / theirs.rate.value
    says = f"{ratio:.3g} times the fastest peer ({best})"
    if ratio > 1:
        return doc.Check(name, "good", says)
    low, high = mine.rate.low, mine.rate.high
    level = low is None or theirs.rate.low is None or high > theirs.rate.low
    says += ", which their intervals do not tell apart" if level else ""
    return doc.Check(name, "open" if level else "bad", f"{says}: {_why(mine, theirs, best)}")


def _why(mine: Figures, theirs: Figures, peer: str) -> str:
    """Say which phase takes so much longer than in the peer, and who uses more cores."""
    times = [
        {phase: 1e6 * found.phases[phase] / found.rate.value for phase in PHASES}
        for found in (mine, theirs)
    ]
    slow = max(PHASES, key=lambda phase: times[0][phase] - times[1][phase])
    own, other = (found[slow] for found in times)
    used, more = (found.cpu_us * found.rate.value / 1e6 for found in (mine, theirs))
    said = f"{slow} takes {own:.3g} µs of a transition, in {peer} {other:.3g} µs"
    return f"{said}; it keeps {used:.1f} cores busy, {peer} {more:.1f}"


def _too_many(cases: Sequence[CaseSummary], counts: Sequence[int]) -> list[str]:
    """Say what was left out: what a process per environment would take with the most of them."""
    factor = counts[-1] / counts[-2]
    needs = [
        f"{case.label} {factor * case.figures.start_up:.0f} s to start and "
        f"{factor * case.figures.memory / 2**30:.1f} GB"
        for case in cases
        if case.label in PROCESSES and case.n_envs == counts[-2] and case.figures
    ]
    if not needs:
        return []
    said = f"{counts[-1]:,} environments are left out where each has a process of its own"
    other = f"{', '.join(OTHERS)}: measured with {counts[0]} environments only, to save time."
    return [f"{said}: at {counts[-2]} environments' cost they take {', '.join(needs)}.", other]


def learning(given: argparse.Namespace) -> list[doc.Section]:
    """Return what each trainer learns at equal steps and at equal seconds; draw it."""
    trainings = measured(
        given.runs / "peers-learning",
        lambda **place: wfbench.run(
            preset="per-order",
            env="cage2:memory=true,actions=reduced",
            trainer=installed(TRAINERS),
            collector="vector",
            n_envs=4 if given.smoke else 25,
            searcher="given:orders=SEUHD",
            workflows=1,
            max_episodes=6 if given.smoke else EPISODES,
            stop="budget",
            max_seconds=given.seconds,
            seeds=3,
            **place,
        ),
    )
    curves: Curves = {}
    for run in trainings:
        trainer = json.loads((run.path / "config.json").read_text())["plugins"]["trainer"]
        curves.setdefault(trainer["name"], []).append(list(run.updates()))
    every = [seed for seeds in curves.values() for seed in seeds]
    ends = {
        "env_steps": min(seed[-1]["env_steps"] for seed in every),
        "elapsed_seconds": given.seconds,
    }
    facts = (
        *(doc.Fact(name.partition(":")[0], name) for name in installed(TRAINERS)),
        doc.Fact("each training", f"{given.seconds:g} s or {EPISODES:,} episodes of 25 envs"),
    )
    sections = []
    for measure, end in ends.items():
        found = _at(curves, measure, end)
        best = max(found.rows, key=lambda row: row[1])
        says = f"{best[0]} is best with a return of {best[1]:.1f}"
        title = f"Learning, {end:,.0f} {WORDS[measure]}"
        exhibit = doc.Exhibit("", READING, found)
        headline = doc.Check("result", "good", says)
        sections.append(doc.Section(title, "search", headline, facts=facts, exhibits=(exhibit,)))
    write_whole(given.to / "peers.svg", standalone_svg(_picture(curves, given.seconds)).encode())
    return sections


def _at(curves: Curves, measure: str, end: float) -> doc.Table:
    """Return return and compliance of each trainer where `measure` has come to `end`."""
    other = "env_steps" if measure == "elapsed_seconds" else "elapsed_seconds"
    rows = []
    for name, seeds in curves.items():
        there = [_until(seed, measure, end) for seed in seeds]
        means = [
            mean_estimate([fmean(update[value] for update in part[-RECENT:]) for part in there])
            for value in ("return", "compliance")
        ]
        rows.append((name, *means, mean_estimate([part[-1][other] for part in there])))
    return table(["trainer", "return .1 ±", "compliance .3 ±", f"{WORDS[other]} ±"], rows)


def _until(updates: Sequence[dict[str, Any]], measure: str, end: float) -> list[dict[str, Any]]:
    """Return the updates until `measure` has come to `end`, the first one at least."""
    return list(updates[: max(1, bisect_right([one[measure] for one in updates], end))])


def _picture(curves: Curves, seconds: float) -> doc.Exhibit:
    rows = []
    for name, seeds in curves.items():
        first = max(seed[0]["elapsed_seconds"] for seed in seeds)
        for point in range(POINTS):
            now = first + (seconds - first) * point / (POINTS - 1)
            parts = [_until(seed, "elapsed_seconds", now)[-RECENT:] for seed in seeds]
            found = mean_estimate([fmean(one["return"] for one in part) for part in parts])
            rows.append((name, now, found))
    return doc.Exhibit(
        "Return over seconds",
        "Mean of three seeds with its 95 % interval.",
        table(["trainer", "time (s)", "return .1 ±"], rows),
        picture=doc.Curves("time", "return", "trainer", low="low", high="high"),
    )


def main() -> None:
    """Measure what is asked for and write the three files."""
    parser = argparse.ArgumentParser(description="Measure ours and every installed peer.")
    parser.add_argument("--only", choices=("throughput", "learning"))
    parser.add_argument("--env", choices=ENVS, action="append", help="throughput on these only")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each collector")
    parser.add_argument("--seconds", type=float, default=40.0, help="of each training")
    parser.add_argument("--runs", type=Path, default=ROOT / "results" / "runs")
    parser.add_argument("--to", type=Path, default=ROOT / "results")
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args()
    sections = []
    if given.only != "learning":
        sections += [throughput(given, title, ENVS[title]) for title in given.env or ENVS]
    if given.only != "throughput":
        sections += learning(given)
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    commit = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    title = f"Peers, commit {commit.strip()}"
    created = datetime.now(UTC).isoformat(timespec="seconds")
    report = doc.Report(title, created, wfbench.__version__, tuple(sections))
    text = whole_markdown(report) + "\n![Return over seconds](peers.svg)\n\n" + MADE_BY
    write_whole(given.to / "peers.md", text.encode())
    write_json(given.to / "peers.json", "wfbench/report/1", dict(as_data(report)))


if __name__ == "__main__":
    main()
