"""Builds of real repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.revisions.building import Build, BuildError, build, find_project
from wfbench.contract import UsageError


def planted(found: Build) -> str:
    text = (found.path / "wfbench_threads" / "collector.py").read_text()
    return next(line for line in text.splitlines() if line.startswith("PLANTED"))


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
    assert planted(build(project, "HEAD")) == "PLANTED = 0.0"


def test_environments_and_results_are_no_sources(repository: Any) -> None:
    project = find_project(Path.cwd())
    clean = build(project, None)
    for name in ("venv/pyvenv.cfg", "results/checks/verdict.json"):
        (repository.path / name).parent.mkdir(parents=True)
        (repository.path / name).write_text("{}")
    assert build(project, None).path == clean.path


def test_what_cannot_be_built_is_one_line(repository: Any, tmp_path: Path) -> None:
    project = find_project(Path.cwd())
    with pytest.raises(UsageError, match="there is no revision 'nowhere' in"):
        build(project, "nowhere")
    repository.write("in_tree_backend.py", "-> str:\n", "    raise OSError('no compiler')\n")
    with pytest.raises(BuildError, match=r"working tree cannot be built: .*no compiler") as raised:
        build(project, None)
    assert "\n" not in str(raised.value)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.name.startswith(".new")]


def test_a_place_without_a_project_is_named(tmp_path: Path, repository: Any) -> None:
    with pytest.raises(UsageError, match="is not in a git repository"):
        find_project(tmp_path)
    (repository.path / "pyproject.toml").unlink()
    with pytest.raises(UsageError, match=r"there is no pyproject\.toml here or above"):
        find_project(repository.path)
