"""Where plugins come from: entry points of installed distributions, and directories."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, distributions, entry_points, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

GROUP = "wfbench"
BUNDLED = "wfbench"
"""The distribution whose plugins are ours."""


@dataclass(frozen=True)
class Source:
    """Where a plugin comes from."""

    plugin: str
    """The name of its entry point, or of its file or package in a plugin directory."""
    distribution: str
    """Empty for a plugin in a directory."""
    version: str
    file: str

    @property
    def bundled(self) -> bool:
        """Whether it is one of ours."""
        return self.distribution == BUNDLED

    @property
    def names(self) -> frozenset[str]:
        """What a user may call this plugin."""
        return frozenset(
            {self.plugin, self.distribution, self.distribution.removeprefix("wfbench-")}
        )

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}" if self.distribution else self.file

    def with_libraries(self) -> str:
        """Where it comes from, with the versions of the libraries that it stands on."""
        if self.bundled or not self.distribution:
            return str(self)
        found = ", ".join(f"{name} {version(name)}" for name in _required(self.distribution))
        return f"{self} ({found})" if found else str(self)


@dataclass(frozen=True)
class Candidate:
    """A plugin that was found but not yet imported."""

    source: Source
    load: Callable[[], Any]


def installed() -> Iterator[Candidate]:
    """Plugins of installed distributions: ours first, then by distribution and name."""
    for entry in sorted(entry_points(group=GROUP), key=_rank):
        distribution = "" if entry.dist is None else entry.dist.name
        version = "" if entry.dist is None else entry.dist.version
        yield Candidate(Source(entry.name, distribution, version, _file(entry)), entry.load)


def in_directories(directories: Iterable[Path]) -> Iterator[Candidate]:
    """Single files and packages of these directories, which become importable."""
    for directory in directories:
        if not directory.is_dir():
            raise UsageError(f"--plugins-dir {directory}: there is no such directory")
        folder = str(directory.resolve())
        if folder not in sys.path:
            sys.path.append(folder)
            invalidate_caches()
        for path in sorted(Path(folder).iterdir()):
            file = path / "__init__.py" if path.is_dir() else path
            if path.name.startswith(("_", ".")) or file.suffix != ".py" or not file.is_file():
                continue
            yield Candidate(Source(path.stem, "", "", str(file)), _importer(path.stem, file))


def _required(distribution: str) -> list[str]:
    """What a distribution needs to run beside us, as far as it is installed."""
    names = [
        re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        for requirement in requires(distribution) or ()
        if "extra ==" not in requirement
    ]
    return [name for name in names if name != BUNDLED and any(distributions(name=name))]


def _rank(entry: EntryPoint) -> tuple[bool, str, str]:
    distribution = "" if entry.dist is None else entry.dist.name
    return distribution != BUNDLED, distribution, entry.name


def _file(entry: EntryPoint) -> str:
    """The file of a plugin, found without importing it: it may not be importable."""
    top = entry.module.partition(".")[0]
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        found = None
    if found is None:
        return ""
    if not found.submodule_search_locations:
        return found.origin or ""
    inside = entry.module.split(".")[1:]
    for location in found.submodule_search_locations:
        base = Path(location).joinpath(*inside)
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return str(path)
    return found.origin or ""


def _importer(name: str, file: Path) -> Callable[[], Any]:
    def load() -> Any:
        module = import_module(name)
        origin = getattr(module, "__file__", None)
        if origin is None or not file.samefile(origin):
            raise ImportError(f"{name!r} is also the name of {origin or 'a built-in'}; rename it")
        return module

    return load
