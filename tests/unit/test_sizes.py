"""The limits of CONTRIBUTING.md: what is meant to be seen at once can be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [path for folder in ("wfbench", "plugins") for path in (ROOT / folder).rglob("*.py")]
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def _longer(kind: type[ast.AST], limit: int) -> list[str]:
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | FUNCTION) and isinstance(node, kind):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > limit:
                    found.append(f"{path.relative_to(ROOT)}: {node.name} has {lines} lines")
    return found


def test_there_is_something_to_measure() -> None:
    assert len(FILES) > 300
    assert len(_longer(ast.FunctionDef, 1)) > 1000


@pytest.mark.parametrize(("kind", "limit"), [(ast.ClassDef, 250), (FUNCTION, 60)])
def test_no_function_or_class_is_too_long(kind: type[ast.AST], limit: int) -> None:
    assert not _longer(kind, limit)


def test_no_module_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {path: lines for path, lines in lengths.items() if lines > 450}
