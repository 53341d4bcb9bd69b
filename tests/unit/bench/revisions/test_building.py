"""Builds of real repositories."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.revisions import building
from wfbench.benchmarks.revisions.building import Build, BuildError, build, find_project
from wfbench.contract import UsageError


def planted(found: Build) -> str:
    text = (found.path / "wfbench_threads" / "collector.py").read_text()
    return next(line for line in text.splitlines() if line.startswith("PLANTED"))


def fill(cache: Path) -> None:
    """Add 22 builds of long ago, a file, and a build that is being made."""
    for number in range(22):
        (cache / f"old-{number:02}").mkdir()
        os.utime(cache / f"old-{number:02}", (number, number))
    (cache / "no-build").touch()
    (cache / ".new-now").mkdir()
    for name in ("no-build", ".new-now"):
        os.utime(cache / name, (0, 0))


def test_a_revision_and_the_working_tree_are_built_apart(repository: Any) -> None:
    first = repository.commit("Nothing")
    repository.plant(0.5)
    (repository.path / "src" / "wfbench_threads" / "fresh.py").write_text("NEW = 1\n")
    before = repository.git("status", "--porcelain")
    project = find_project(Path.cwd())
    old, new = build(project, "main"), build(project, None)
    assert (planted(old), planted(new)[:13]) == ("PLANTED = 0.0", "PLANTED = 0.5")
    assert not (old.path / "wfbench_threads" / "fresh.py").exists()
    assert (new.path / "wfbench_threads" / "fresh.py").exists()
    assert (old.commit, old.distribution) == (first, "wfbench-threads")
    assert (old.revision, new.revision) == ("main", "working tree")
    assert repository.git("status", "--porcelain") == before
    assert repository.git("worktree", "list").count("\n") == 0


def test_a_build_is_kept_while_the_sources_are_the_same(repository: Any) -> None:
    project = find_project(Path.cwd())
    first = build(project, None)
    (first.path / "mark").touch()
    repository.commit("Change nothing")
    assert (build(project, "HEAD").path / "mark").exists()
    repository.plant(0.5)
    assert build(project, None).path != first.path


def test_the_project_may_be_a_folder_of_the_repository(repository: Any) -> None:
    inner = repository.path / "packages" / "inner"
    inner.mkdir(parents=True)
    for name in ("pyproject.toml", "in_tree_backend.py", "src"):
        (repository.path / name).rename(inner / name)
    repository.commit("Move")
    project = find_project(inner / "src" / "wfbench_threads")
    assert (project.root, project.folder) == (repository.path, "packages/inner")
    built = build(project, "HEAD")
    assert planted(built) == "PLANTED = 0.0"
    (repository.path / "outside").write_text("Not of this project.")
    assert build(project, None).path == built.path


def test_environments_and_results_are_no_sources(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = find_project(Path.cwd())
    clean = build(project, None)
    fill(tmp_path / "cache" / "wfbench" / "revisions")
    monkeypatch.setenv("GIT_DIR", "nowhere")  # as a hook of git has it
    for name in ("venv/pyvenv.cfg", "results/checks/verdict.json"):
        (repository.path / name).parent.mkdir(parents=True)
        (repository.path / name).write_text("{}")
    assert build(project, None).path == clean.path
    newest = {f"old-{number:02}" for number in range(3, 22)}
    kept = {path.name for path in clean.path.parent.iterdir()}
    assert kept == {clean.path.name, "no-build", ".new-now"} | newest, "a file is no build"


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ('[build-system]\nbuild-backend = "json.tool:main"', True),
        ('[build-system]\nbuild-backend = "gone.json:main"', False),
        ("[project]", find_spec("setuptools") is not None),
        ("[build-system", False),
        ("build-system = 3", False),
        (None, False),
    ],
)
def test_a_build_tool_that_is_installed_is_used(
    text: str | None, tmp_path: Path, *, there: bool
) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    assert building._has_backend(tmp_path) == there


def test_what_git_cannot_do_is_said(repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project = find_project(repository.path)
    with pytest.raises(BuildError, match=r"^git rev-parse failed in .*project: fatal: Needed a"):
        project.git("rev-parse", "--verify", "nowhere")
    with pytest.raises(BuildError, match=r"^git diff failed in .*: no message$"):
        project.git("diff", "--quiet", "--no-index", "pyproject.toml", "in_tree_backend.py")
    tree = repository.git("rev-parse", "HEAD^{tree}")
    (repository.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(BuildError, match="git read-tree failed in"):
        build(project, "HEAD")
    monkeypatch.setenv("PATH", str(repository.path))
    with pytest.raises(UsageError, match="git is not installed"):
        find_project(repository.path)


def test_what_cannot_be_built_is_one_line(repository: Any, tmp_path: Path) -> None:
    project = find_project(Path.cwd())
    with pytest.raises(UsageError, match="there is no revision 'nowhere' in"):
        build(project, "nowhere")
    repository.write(
        *("in_tree_backend.py", "-> str:\n"),
        "    import sys\n    print('one', '', 'two', sep=chr(10), file=sys.stderr)\n"
        "    raise OSError('no compiler')\n",
    )
    with pytest.raises(BuildError, match=r"^working tree cannot be built: .*no compiler") as raised:
        build(project, None)
    lines = str(raised.value).split(" / ")
    assert len(lines) == 3
    assert not [line for line in lines if not line or line.startswith("note:")]
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.name.startswith(".new")]


def test_a_place_without_a_project_is_named(tmp_path: Path, repository: Any) -> None:
    with pytest.raises(UsageError, match="is not in a git repository"):
        find_project(tmp_path)
    (repository.path / "pyproject.toml").unlink()
    with pytest.raises(UsageError, match=r"there is no pyproject\.toml here or above"):
        find_project(repository.path)
