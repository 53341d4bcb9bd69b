"""Checks of what is installed: plugins, and the cache of compiled kernels."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from wfbench.contract import Health
from wfbench.host.manager import PluginHost


def plugins(host: PluginHost) -> Health:
    """Return whether every plugin that was found can be used."""
    if not host.broken:
        return Health(ok=True, message=f"{len(host.loaded)} plugins loaded, none broken")
    causes = "; ".join(f"{b.source.plugin} ({b.source}): {b.cause}" for b in host.broken)
    culprits = [b.source.distribution or b.source.file for b in host.broken]
    return Health(
        ok=False,
        message=f"{len(host.broken)} broken: {causes}",
        remedy=f"upgrade or uninstall {', '.join(culprits)}, or name it in WFBENCH_BLOCK_PLUGINS",
    )


def kernel_cache(host: PluginHost) -> Health:
    """Return whether compiled kernels can be kept, so that only the first run compiles."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen is not None:
        places = [Path(chosen)]
    else:
        places = sorted(_packages(source.file for source in host.loaded if source.file))
    found = sum(1 for place in places for _ in place.rglob("*.nbi"))
    blocked = [place for place in places if not _writable(place)]
    if blocked:
        return Health(
            ok=False,
            message=f"compiled kernels cannot be kept in {blocked[0]}",
            remedy="export NUMBA_CACHE_DIR=some writable directory",
        )
    message = f"{found} compiled functions kept" if found else "empty; the first run compiles"
    return Health(ok=True, message=message)


def _packages(files: Iterable[str]) -> set[Path]:
    return {Path(file).parent for file in files} | {Path(__file__).parents[2] / "policies"}


def _writable(place: Path) -> bool:
    """Return whether the cache directory of a package can be written or made."""
    cache = place if "NUMBA_CACHE_DIR" in os.environ else place / "__pycache__"
    while not cache.exists():
        cache = cache.parent
    return os.access(cache, os.W_OK)
