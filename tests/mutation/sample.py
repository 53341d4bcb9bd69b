"""Sample small mutations of our code and list those that no test of their package notices.

    python tests/mutation/sample.py --mutants 60 --seed 1 [wfbench/collecting ...]

Each mutant flips one comparison, `and`/`or`, `is None`, `not`, constant or sign in a copy of the
tree. The tests of its package (`tests.toml`) that run the line are run there until the first
failure; all have passed without a mutant before. One that never ends counts as noticed. What
survives is printed with file, line and change. Those of `equivalents.toml` were argued to change
nothing and are not counted.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from coverage import CoverageData

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
HOUR = 3600.0
LIMIT = 600.0
"""Seconds that the tests of one mutant may take. pytest ends a test that hangs long before."""

TESTS = tomllib.loads((HERE / "tests.toml").read_text(encoding="utf-8"))
"""The tests of each package, the longest path that fits first."""

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
    """Yield what does nothing while the code is right.

    Docstrings, annotations and decorators, and `strict`, by which `zip` asserts equal lengths. A
    negative length in `reshape` is the one to be found, whichever it is.
    """
    if isinstance(node, ast.Expr):
        yield node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
        yield from (keyword.value for keyword in node.keywords)
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "reshape":
        signed = (part for part in node.args if isinstance(part, ast.UnaryOp))
        yield from (part.operand for part in signed)
    for name in ("annotation", "returns", "decorator_list"):
        found = getattr(node, name, None)
        for part in found if isinstance(found, list) else [found]:
            if isinstance(part, ast.AST):
                yield from ast.walk(part)


def tests_of(path: str) -> list[str] | None:
    """Return the tests of the package that a file is in; None if it has none."""
    fitting = [package for package in TESTS if path.startswith(f"{package}/")]
    found: list[str] | None = TESTS[max(fitting, key=len)] if fitting else None
    return found


class Trees:
    """Copies of the tree, each with an interpreter that imports from it, also in child processes.

    PYTHONPATH would not do: tests drop it for the processes that they start.
    """

    def __init__(self, scratch: Path, copies: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        self.all = [scratch / str(number) for number in range(copies)]
        for tree in self.all:
            _copy_tree(tree)
            _make_interpreter(tree)
            self._free.put(tree)

    @contextmanager
    def one(self) -> Iterator[Path]:
        """Lend a tree that nobody else uses meanwhile."""
        tree = self._free.get()
        try:
            yield tree
        finally:
            self._free.put(tree)


def _copy_tree(into: Path) -> None:
    """Copy what git tracks or would."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, into / name)


def _make_interpreter(tree: Path) -> None:
    """Put the tree before the packages that are installed here."""
    venv.create(tree / ".venv", symlinks=True)
    ours = [str(tree), str(tree / "plugins/bundled")]
    theirs = [path for path in sys.path if path.endswith("-packages")]
    [folder] = (tree / ".venv").glob("lib/python*/site-packages")
    (folder / "tree.pth").write_text("\n".join(ours + theirs), encoding="utf-8")
    script = tree / ".venv/bin/wfbench"
    script.write_text(f"#!{tree}/.venv/bin/python\nfrom wfbench.cli.main import main\n\nmain()\n")
    script.chmod(0o755)


def _pytest(tree: Path, arguments: Iterable[str], limit: float) -> int | None:
    """Return the exit code of pytest in a tree; None if it took longer than the limit."""
    command = [str(tree / ".venv/bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # A mutant and what it replaces may have the same size and second: no stale bytecode.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with (tree / "pytest.log").open("w", encoding="utf-8") as log:
        started = subprocess.Popen(
            [*command, *arguments],
            cwd=tree,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            return started.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            return None


class Reach:
    """Which tests run which lines, found by one run of all tests without a mutant."""

    def __init__(self, trees: Trees, tests: Iterable[str]) -> None:
        self._tree = trees.all[0]
        self._file = self._tree / ".coverage"
        (self._tree / ".coveragerc").write_text(
            "[run]\nsource = wfbench, plugins/bundled\ndisable_warnings = no-data-collected\n"
        )
        # Many tests wait, so twice as many run as there are trees.
        count = str(2 * len(trees.all))
        options = ("-n", count, "--dist", "loadfile", "--cov", "--cov-context=test")
        arguments = (*options, "--cov-report=", *sorted(tests))
        with trees.one():
            code = _pytest(self._tree, arguments, HOUR)
        if code is None:
            raise SystemExit("without a mutant these tests did not end within an hour")
        if code:
            sys.stderr.write((self._tree / "pytest.log").read_text(encoding="utf-8"))
            raise SystemExit("these tests do not pass without a mutant")

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests of the mutant's package that run its line.

        All of them if none is known to: a line may run at import, compiled or in a child process.
        """
        data = CoverageData(str(self._file))
        data.read()
        package = tests_of(mutant.path) or []
        found = data.contexts_by_lineno(str(self._tree / mutant.path)).get(mutant.line, [])
        named = (context.rpartition("|") for context in found if context)
        # What runs in a fixture may be looked at by every test of the file.
        chosen = {test if phase == "run" else test.split("::")[0] for test, _, phase in named}
        return sorted(test for test in chosen if test.startswith(tuple(package))) or package


def outcome(mutant: Mutant, trees: Trees, tests: list[str]) -> str:
    """Return what the tests say of a mutant: "noticed", "survived" or "timed out"."""
    with trees.one() as tree:
        place = tree / mutant.path
        source = place.read_text(encoding="utf-8")
        place.write_text(mutant.apply(source), encoding="utf-8")
        try:
            code = _pytest(tree, ("-x", "-p", "no:xdist", *tests), LIMIT)
        finally:
            place.write_text(source, encoding="utf-8")
    return {0: "survived", None: "timed out"}.get(code, "noticed")


def interval(hits: int, tries: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z, p = 1.96, hits / tries
    middle = p + z * z / (2 * tries)
    spread = z * math.sqrt(p * (1 - p) / tries + z * z / (4 * tries * tries))
    scale = 1 + z * z / tries
    return (middle - spread) / scale, (middle + spread) / scale


def sample(under: Iterable[str], mutants: int, seed: int) -> tuple[list[Mutant], int]:
    """Return random mutants of folders, and how many there are."""
    files = {str(path.relative_to(ROOT)) for one in under for path in (ROOT / one).rglob("*.py")}
    sources = [Source(path) for path in sorted(files) if tests_of(path)]
    every = [mutant for source in sources for mutant in source.mutants()]
    generator = random.Random(seed)  # noqa: S311 (a sample, no secret)
    return generator.sample(every, min(mutants, len(every))), len(every)


def is_argued(mutant: Mutant, change: str) -> bool:
    """Say whether a mutant was argued to change nothing."""
    argued = tomllib.loads((HERE / "equivalents.toml").read_text(encoding="utf-8"))["mutant"]
    return any(
        (one["path"], f"- {one['was']}\n    + {one['now']}") == (mutant.path, change)
        for one in argued
    )


def main() -> int:
    """Run a sample; exit 1 if less than the wanted share is noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("under", nargs="*", default=list(TESTS), help="folders to mutate")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.85, help="the share to be noticed")
    parser.add_argument("--at-once", type=int, default=2, help="how many mutants are tried at once")
    asked = parser.parse_args()
    chosen, possible = sample(asked.under, asked.mutants, asked.seed)
    counts = {"noticed": 0, "survived": 0, "timed out": 0, "equivalent": 0}
    with tempfile.TemporaryDirectory(prefix="wfbench-mutation-") as scratch:
        trees = Trees(Path(scratch), asked.at_once)
        reach = Reach(trees, {test for one in chosen for test in tests_of(one.path) or ()})
        with ThreadPoolExecutor(asked.at_once) as pool:
            found = pool.map(lambda one: outcome(one, trees, reach.tests(one)), chosen)
            for number, (mutant, said) in enumerate(zip(chosen, found, strict=True), start=1):
                change = mutant.change((ROOT / mutant.path).read_text(encoding="utf-8"))
                same = said == "survived" and is_argued(mutant, change)
                verdict = "equivalent" if same else said
                counts[verdict] += 1
                print(f"{number}/{len(chosen)} {verdict}: {mutant.path}:{mutant.line}", flush=True)
                if verdict in {"survived", "timed out"}:
                    print(f"    {change}", flush=True)
    noticed = counts["noticed"] + counts["timed out"]
    judged = noticed + counts["survived"]
    low, high = interval(noticed, judged)
    share = noticed / judged
    print(
        f"seed {asked.seed}: {noticed} of {judged} noticed, {share:.0%} (95 % interval {low:.0%} "
        f"to {high:.0%}; {counts['timed out']} because they never ended); "
        f"{counts['equivalent']} equivalent; {possible} possible mutants"
    )
    return int(share < asked.share)


if __name__ == "__main__":
    raise SystemExit(main())
