"""Build a revision of the project in the current folder, or its working tree, to be imported.

Both are built in the same way, by pip, from a checkout of their own into a folder of their own. All
other packages are those of this environment. A build is kept and used again while the sources are
the same. The repository itself is never written to.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from wfbench.contract import ExitCode, UsageError, WfbenchError
from wfbench.store.files import writing

WORKING_TREE = "working tree"
_KEPT = 20
"""Builds that are kept; the least recently used go first."""
_MARKS = ("pyproject.toml", "setup.py")
_OUTPUT = ("results", "build", "dist")
"""Untracked folders that are what tools wrote, not sources."""
_FRAME = ("note:", "hint:", "error: subprocess", "\u00d7", "\u2570", "[end of output]")
"""Beginnings of the lines that pip puts around what a build said."""
_TAIL = 3
"""Lines of a failed build that are shown."""


class BuildError(WfbenchError):
    """A revision could not be built."""

    exit_code = ExitCode.TRIAL_FAILED


@dataclass(frozen=True)
class Project:
    """A Python project in a git repository."""

    root: Path
    folder: str
    """Where in the repository it is; `.` for its top."""

    def git(self, *arguments: str, check: bool = True) -> str:
        """Return what git says, without the last newline."""
        return _git(self.root, *arguments, check=check)

    def commit(self, revision: str) -> str:
        """Return the hash of a revision."""
        name = f"{revision}^{{commit}}"
        found = self.git("rev-parse", "--verify", "--quiet", "--end-of-options", name, check=False)
        if not found:
            raise UsageError(
                f"there is no revision {revision!r} in {self.root}; name another, or fetch it "
                "(`git fetch`; a shallow clone needs more depth)"
            )
        return found


@dataclass(frozen=True)
class Build:
    """A built revision."""

    revision: str
    """As it was asked for."""
    commit: str
    """Its hash; of a working tree, that of the commit below it."""
    path: Path
    """The folder it is installed in."""
    distribution: str


def find_project(start: Path) -> Project:
    """Return the project that a folder belongs to; raise UsageError if there is none."""
    if shutil.which("git") is None:
        raise UsageError("git is not installed; it is needed to build another revision")
    top = _git(start, "rev-parse", "--show-toplevel", check=False)
    if not top:
        raise UsageError(f"{start} is not in a git repository; run this inside your project")
    root = Path(top)
    for folder in (start.resolve(), *start.resolve().parents):
        if any((folder / mark).is_file() for mark in _MARKS):
            return Project(root, folder.relative_to(root).as_posix())
        if folder == root:
            break
    raise UsageError(f"{start}: there is no pyproject.toml here or above; run this in your project")


def build(project: Project, revision: str | None) -> Build:
    """Build a revision, or the working tree with everything that is not committed yet."""
    commit = project.commit(revision or "HEAD")
    place = _cache()
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=place) as temporary:
        source, site = Path(temporary, "source"), Path(temporary, "site")
        tree = _check_out(project, source, commit, working=revision is None)
        built = place / _key(source, tree, project.folder)
        if not built.is_dir():
            _install(source / project.folder, site, revision or WORKING_TREE)
            with writing(built):
                site.rename(built)
    os.utime(built)
    _forget_old(place)
    [found] = list(distributions(path=[str(built)]))
    return Build(revision or WORKING_TREE, commit, built, found.name)


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "wfbench" / "revisions"


def _check_out(project: Project, source: Path, commit: str, *, working: bool) -> str:
    """Check a commit out, or the working tree above it; return the hash of the tree.

    The checkout borrows the objects of the repository and keeps new ones to itself.
    """
    _git(source.parent, "init", "--quiet", str(source))
    objects = Path(project.root, project.git("rev-parse", "--git-path", "objects"))
    borrowed = source / ".git" / "objects" / "info" / "alternates"
    borrowed.write_text(f"{objects.resolve()}\n", encoding="utf-8")
    _git(source, "update-ref", "--no-deref", "HEAD", commit)
    _git(source, "read-tree", commit)
    if working:
        theirs = ("--git-dir", str(source / ".git"), "--work-tree", str(project.root))
        _git(project.root, *theirs, "add", "--update")
        fresh = _new_files(project.root)
        if fresh:
            _git(project.root, *theirs, "add", "--", *fresh)
    _git(source, "checkout-index", "--all", "--force")
    return _git(source, "write-tree")


def _new_files(root: Path) -> list[str]:
    """Return what is neither tracked nor ignored, except environments and what tools wrote."""
    listed = _git(root, "ls-files", "--others", "--exclude-standard", "--directory", "-z")
    return [
        name
        for name in listed.split("\0")
        if name and Path(name).name not in _OUTPUT and not (root / name / "pyvenv.cfg").exists()
    ]


def _key(source: Path, tree: str, folder: str) -> str:
    inner = tree if folder == "." else _git(source, "rev-parse", f"{tree}:{folder}")
    python = f"{sys.implementation.cache_tag}\0{sys.prefix}"
    return hashlib.blake2b(f"{inner}\0{python}".encode(), digest_size=12).hexdigest()


def _install(source: Path, site: Path, name: str) -> None:
    """Build the project and install it into a folder, without its dependencies."""
    if find_spec("pip") is None:
        raise UsageError("pip is not installed here; install it (`python -m ensurepip`)")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    asked = [*pip, "--quiet", "--no-deps", "--target", str(site), str(source)]
    done = None
    for more in [["--no-build-isolation"], []] if _has_backend(source) else [[]]:
        shutil.rmtree(site, ignore_errors=True)
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            [*asked, *more], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode == 0 and site.is_dir():
            return
    lines = (line.strip() for line in (done.stderr if done else "").splitlines())
    said = [line for line in lines if line and not line.startswith(_FRAME)]
    raise BuildError(f"{name} cannot be built: {' / '.join(said[-_TAIL:]) or 'pip said nothing'}")


def _has_backend(source: Path) -> bool:
    """Return whether the build tool is installed: it is used then, instead of a fresh one."""
    try:
        values = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))
        backend = str(values.get("build-system", {}).get("build-backend", "setuptools"))
        return find_spec(backend.partition(":")[0].partition(".")[0]) is not None
    except (OSError, ValueError, AttributeError):
        return False


def _forget_old(place: Path) -> None:
    kept = [path for path in place.iterdir() if not path.name.startswith(".")]
    for path in sorted(kept, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def _git(folder: Path, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(  # noqa: S603 (git with arguments of our own)
        ["git", "-C", str(folder), *arguments],  # noqa: S607 (found on the path, as a user would)
        capture_output=True,
        text=True,
        check=False,
        env=_without_git_variables(),
    )
    if done.returncode and check:
        said: Sequence[str] = done.stderr.strip().splitlines() or ["no message"]
        raise BuildError(f"git {arguments[0]} failed in {folder}: {said[-1]}")
    return done.stdout.strip() if done.returncode == 0 else ""


def _without_git_variables() -> dict[str, str]:
    """Return the environment of git; a hook that calls us must not redirect it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
