"""Discovery: plugins from entry points of installed distributions, and from directories."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, distributions, entry_points, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

GROUP = "wfbench"
BUNDLED = "wfbench"
"""The distribution whose plugins are the bundled ones."""


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
        """Whether it comes with wfbench."""
        return self.distribution == BUNDLED

    @property
    def names(self) -> frozenset[str]:
        """The names a user may call it by."""
        short = self.distribution.removeprefix("wfbench-")
        return frozenset({self.plugin, self.distribution, short})

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}" if self.distribution else self.file

    def with_libraries(self) -> str:
        """Say where it comes from, with the versions of the libraries it needs."""
        if self.bundled or not self.distribution:
            return str(self)
        wanted = [line for line in requires(self.distribution) or () if "extra ==" not in line]
        names = [re.split(r"[^\w.-]", line)[0] for line in wanted]
        present = [name for name in names if name != BUNDLED and any(distributions(name=name))]
        found = ", ".join(f"{name} {version(name)}" for name in present)
        return f"{self} ({found})" if found else str(self)


@dataclass(frozen=True)
class Candidate:
    """A plugin that was found but not yet imported."""

    source: Source
    load: Callable[[], Any]


def installed() -> Iterator[Candidate]:
    """Yield the plugins of installed distributions: bundled ones first, then by name."""
    found = []
    for entry in entry_points(group=GROUP):
        name, release = (entry.dist.name, entry.dist.version) if entry.dist else ("", "")
        found.append(Candidate(Source(entry.name, name, release, _file(entry)), entry.load))
    yield from sorted(
        found, key=lambda c: (not c.source.bundled, c.source.distribution, c.source.plugin)
    )


def in_directories(directories: Iterable[Path]) -> Iterator[Candidate]:
    """Yield the files and packages of these directories, which become importable."""
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
            yield Candidate(Source(path.stem, "", "", str(file)), partial(_load, path.stem, file))


def _file(entry: EntryPoint) -> str:
    """Find the file of a plugin without importing it: the import may fail."""
    top, *inside = entry.module.split(".")
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        found = None
    if found is None:
        return ""
    for location in found.submodule_search_locations or ():
        base = Path(location).joinpath(*inside)
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return str(path)
    return found.origin or ""


def _load(name: str, file: Path) -> Any:
    module = import_module(name)
    origin = getattr(module, "__file__", None)
    if origin is None or not file.samefile(origin):
        raise ImportError(f"{name!r} is also the name of {origin or 'a built-in'}; rename it")
    return module
