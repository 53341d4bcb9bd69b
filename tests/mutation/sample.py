"""Sample small mutations of our code and list those that no unit test of their package notices.

    python tests/mutation/sample.py --mutants 60 --seed 1 [wfbench/collecting ...]

Each mutant flips one comparison, `and`/`or`, `is None`, `not`, constant or sign in a copy of the
tree. The unit tests of its package run there until the first failure, after they have passed
without it. What survives is printed with file, line and change. The mutants of `equivalents.toml`
were argued to change nothing and are not counted.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

TESTS = tomllib.loads((HERE / "tests.toml").read_text(encoding="utf-8"))
"""The unit tests of each package, the longest path that fits first."""

_SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    start: int
    stop: int
    """Offsets of what is replaced."""
    new: str

    def apply(self, source: str) -> str:
        """Return the source with the change."""
        return source[: self.start] + self.new + source[self.stop :]

    def change(self, source: str) -> str:
        """Return the line before and after."""
        was = source.splitlines()[self.line - 1].strip()
        now = self.apply(source).splitlines()[self.line - 1].strip()
        return f"- {was}\n    + {now}"


class Source:
    """The text of a file and where the parts of its syntax tree are in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = (ROOT / path).read_text(encoding="utf-8")
        self._lines = self.text.splitlines(keepends=True)

    def mutants(self) -> Iterator[Mutant]:
        """Yield every mutant of the file."""
        tree = ast.parse(self.text)
        idle = {id(part) for node in ast.walk(tree) for part in _idle_parts(node)}
        for node in ast.walk(tree):
            if id(node) not in idle:
                yield from self._mutants_of(node)

    def _mutants_of(self, node: ast.AST) -> Iterator[Mutant]:
        match node:
            case ast.Compare():
                yield from self._between(node.left, node.ops[0], node.comparators[0])
            case ast.BoolOp():
                yield from self._between(node.values[0], node.op, node.values[1])
            case ast.BinOp():
                yield from self._between(node.left, node.op, node.right)
            case ast.UnaryOp(op=ast.Not()):
                at = self._start(node)
                yield Mutant(self.path, node.lineno, at, at + len("not "), "")
            case ast.Constant(value=bool() | int() as value):
                new = str(not value) if isinstance(value, bool) else str(value + 1)
                yield Mutant(self.path, node.lineno, self._start(node), self._stop(node), new)

    def _between(self, left: ast.expr, op: ast.AST, right: ast.expr) -> Iterator[Mutant]:
        old, new = _SWAPS.get(type(op), ("", ""))
        at = self.text.find(old, self._stop(left), self._start(right)) if old else -1
        if at >= 0:
            yield Mutant(self.path, self.text.count("\n", 0, at) + 1, at, at + len(old), new)

    def _start(self, node: ast.expr) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _stop(self, node: ast.expr) -> int:
        return self._offset(node.end_lineno or 0, node.end_col_offset or 0)

    def _offset(self, line: int, column: int) -> int:
        before = sum(map(len, self._lines[: line - 1]))
        return before + len(self._lines[line - 1].encode()[:column].decode())


def _idle_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what does not run when the code does: docstrings, annotations and decorators."""
    if isinstance(node, ast.Expr):
        yield node.value
    for name in ("annotation", "returns", "decorator_list"):
        found = getattr(node, name, None)
        for part in found if isinstance(found, list) else [found]:
            if isinstance(part, ast.AST):
                yield from ast.walk(part)


def tests_of(path: str) -> list[str] | None:
    """Return the unit tests of the package that a file is in; None if it has none."""
    fitting = [package for package in TESTS if path.startswith(f"{package}/")]
    found: list[str] | None = TESTS[max(fitting, key=len)] if fitting else None
    return found


def run_tests(tree: Path, tests: list[str], limit: float) -> str:
    """Return what the tests say of the tree: "noticed", "survived" or "timed out"."""
    paths = os.pathsep.join((str(tree), str(tree / "plugins/bundled")))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist")
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            timeout=limit,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    return "survived" if done.returncode == 0 else "noticed"


class Judge:
    """Puts mutants to the tests of their package, in a copy of the tree."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._limits: dict[tuple[str, ...], float] = {}

    def outcome(self, mutant: Mutant) -> str:
        """Return what the tests say of a mutant."""
        tests = tests_of(mutant.path) or []
        limit, place = self._limit(tests), self._tree / mutant.path
        source = place.read_text(encoding="utf-8")
        place.write_text(mutant.apply(source), encoding="utf-8")
        try:
            return run_tests(self._tree, tests, limit)
        finally:
            place.write_text(source, encoding="utf-8")

    def _limit(self, tests: list[str]) -> float:
        """Return the seconds that tests may take, having seen them pass without a mutant."""
        key = tuple(tests)
        if key not in self._limits:
            started = time.monotonic()
            if run_tests(self._tree, tests, 900.0) != "survived":
                raise SystemExit(f"these tests do not pass without a mutant: {' '.join(tests)}")
            self._limits[key] = 60 + 4 * (time.monotonic() - started)
        return self._limits[key]


def copy_tree(into: Path) -> None:
    """Copy what git tracks or would."""
    listed = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, into / name)


def interval(hits: int, tries: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z, p = 1.96, hits / tries
    middle = p + z * z / (2 * tries)
    spread = z * math.sqrt(p * (1 - p) / tries + z * z / (4 * tries * tries))
    scale = 1 + z * z / tries
    return (middle - spread) / scale, (middle + spread) / scale


def main() -> int:
    """Run a sample; exit 1 if less than the wanted share is noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("under", nargs="*", default=list(TESTS), help="folders to mutate")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.85, help="the share to be noticed")
    asked = parser.parse_args()
    files = sorted(
        str(path.relative_to(ROOT))
        for folder in set(asked.under)
        for path in (ROOT / folder).rglob("*.py")
    )
    sources = [Source(path) for path in dict.fromkeys(files) if tests_of(path)]
    every = [mutant for source in sources for mutant in source.mutants()]
    generator = random.Random(asked.seed)  # noqa: S311 (a sample, no secret)
    chosen = generator.sample(every, min(asked.mutants, len(every)))
    argued = tomllib.loads((HERE / "equivalents.toml").read_text(encoding="utf-8"))["mutant"]
    counts = {"noticed": 0, "survived": 0, "timed out": 0, "equivalent": 0}
    with tempfile.TemporaryDirectory(prefix="wfbench-mutation-") as scratch:
        tree = Path(scratch)
        copy_tree(tree)
        judge = Judge(tree)
        for number, mutant in enumerate(chosen, start=1):
            change = mutant.change((ROOT / mutant.path).read_text(encoding="utf-8"))
            outcome = judge.outcome(mutant)
            if outcome == "survived" and any(
                (one["path"], f"- {one['was']}\n    + {one['now']}") == (mutant.path, change)
                for one in argued
            ):
                outcome = "equivalent"
            counts[outcome] += 1
            print(f"{number}/{len(chosen)} {outcome}: {mutant.path}:{mutant.line}", flush=True)
            if outcome in {"survived", "timed out"}:
                print(f"    {change}", flush=True)
    judged = counts["noticed"] + counts["survived"]
    low, high = interval(counts["noticed"], judged)
    share = counts["noticed"] / judged
    print(
        f"seed {asked.seed}: {counts['noticed']} of {judged} noticed, {share:.0%} "
        f"(95 % interval {low:.0%} to {high:.0%}); {counts['equivalent']} equivalent, "
        f"{counts['timed out']} timed out, of {len(every)} possible mutants"
    )
    return int(share < asked.share)


if __name__ == "__main__":
    raise SystemExit(main())
