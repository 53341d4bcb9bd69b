"""Health checks of the machine and the installation, ours and those of plugins."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import psutil

from wfbench.contract import Health, HealthCheckSpec
from wfbench.host.manager import PluginHost
from wfbench.processes import leftovers
from wfbench.processes.limits import THREAD_VARIABLES, cpu_quota, usable_cores
from wfbench.processes.segments import SHM, segment_dir

_GIB = 2**30
_LOW_MEMORY = 1 * _GIB
_LOW_SHM = 64 * 2**20


@dataclass(frozen=True)
class HealthFinding:
    """What a check found, and what was done about it."""

    name: str
    summary: str
    ok: bool
    message: str
    remedy: str = ""
    fixed: str = ""
    """What `--fix` did; empty if nothing."""


def examine(host: PluginHost, *, fix: bool = False) -> list[HealthFinding]:
    """Run every check; with `fix`, apply the safe remedies and check again."""
    ours: list[tuple[str, str, Callable[[], Health], Callable[[], str] | None]] = [
        ("cores", "Processor cores", _cores, None),
        ("memory", "Free memory", _memory, None),
        ("shared-memory", "Room for shared arrays", _shared_memory, None),
        ("threads", "Thread settings", _threads, None),
        ("segments", "Shared memory of dead runs", _segments, _remove_segments),
        ("workers", "Workers of dead runs", _workers, _end_workers),
        ("kernel-cache", "Compiled kernels", partial(_kernel_cache, host), None),
        ("plugins", "Plugins", partial(_plugins, host), None),
    ]
    checks = [HealthCheckSpec(name=n, summary=s, check=check, fix=f) for n, s, check, f in ours]
    checks += [cast("HealthCheckSpec", offer.spec) for offer in host.offers("health-check")]
    return [_examine(check, fix=fix) for check in checks]


def _examine(spec: HealthCheckSpec, *, fix: bool) -> HealthFinding:
    found = _run(spec)
    fixed = ""
    if fix and not found.ok and spec.fix is not None:
        try:
            fixed = spec.fix()
        except Exception as error:  # noqa: BLE001 - one failing remedy must not hide the others
            fixed = f"the fix failed: {type(error).__name__}: {error}"
        found = _run(spec)
    remedy = "" if found.ok else found.remedy
    return HealthFinding(spec.name, spec.summary, found.ok, found.message, remedy, fixed)


def _run(spec: HealthCheckSpec) -> Health:
    try:
        found: object = spec.check()
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding
        return Health(ok=False, message=f"the check raised {type(error).__name__}: {error}")
    if not isinstance(found, Health):
        return Health(ok=False, message=f"the check returned {found!r}, not a Health")
    return found


def _cores() -> Health:
    usable = usable_cores()
    quota = cpu_quota()
    if quota is None or quota >= usable:
        return Health(ok=True, message=f"{usable} of {os.cpu_count()} cores usable")
    return Health(
        ok=False,
        message=f"{usable} cores are visible, but the container may use only {quota:.3g}",
        remedy=f"give worker collectors workers={max(1, int(quota))}, or raise the CPU limit",
    )


def _memory() -> Health:
    free = psutil.virtual_memory().available
    remedy = "close other programs, or use fewer workers"
    return Health(free >= _LOW_MEMORY, f"{free / _GIB:.1f} GiB available", remedy)


def _shared_memory() -> Health:
    if not SHM.is_dir():
        return Health(ok=True, message=f"no {SHM}; shared arrays go to the temporary directory")
    free = shutil.disk_usage(SHM).free
    remedy = f"enlarge it (docker: --shm-size=1g; else: mount -o remount,size=1g {SHM})"
    return Health(free >= _LOW_SHM, f"{free / 2**20:.0f} MiB free in {SHM}", remedy)


def _threads() -> Health:
    limit = usable_cores()
    given = {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ}
    for name, value in given.items():
        if not (value.isdigit() and 1 <= int(value) <= limit):
            message = f"{name} is {value!r}, with {limit} cores"
            return Health(ok=False, message=message, remedy=f"export {name}=1 (or unset it)")
    listed = ", ".join(f"{name}={value}" for name, value in given.items())
    return Health(ok=True, message=listed or "no thread limits set; workers set their own")


def _segments() -> Health:
    stale = leftovers.stale_segments()
    if not stale:
        return Health(ok=True, message=f"no stale segments in {segment_dir()}")
    size = sum(path.stat().st_size for path in stale)
    names = ", ".join(path.name for path in stale)
    message = f"{len(stale)} stale segments, {size} bytes: {names}"
    return Health(ok=False, message=message, remedy="wfbench doctor --fix removes them")


def _remove_segments() -> str:
    return f"removed {len(leftovers.remove_stale_segments())} segments"


def _workers() -> Health:
    orphans = [str(process.pid) for process in leftovers.orphans()]
    if not orphans:
        return Health(ok=True, message="no orphaned workers")
    message = f"{len(orphans)} orphaned workers: {', '.join(orphans)}"
    return Health(ok=False, message=message, remedy="wfbench doctor --fix ends them")


def _end_workers() -> str:
    return f"ended {leftovers.end_orphans()} workers"


def _kernel_cache(host: PluginHost) -> Health:
    """Return whether compiled kernels can be kept, so that only the first run compiles."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    packages = {Path(source.file).parent for source in host.loaded if source.file}
    packages.add(Path(__file__).parents[1] / "policies")
    places = sorted(packages) if chosen is None else [Path(chosen)]
    for place in places:
        cache = place / "__pycache__" if chosen is None else place
        existing = next(folder for folder in (cache, *cache.parents) if folder.exists())
        if not os.access(existing, os.W_OK):
            message = f"compiled kernels cannot be kept in {place}"
            remedy = "export NUMBA_CACHE_DIR=some writable directory"
            return Health(ok=False, message=message, remedy=remedy)
    found = sum(1 for place in places for _ in place.rglob("*.nbi"))
    message = f"{found} compiled functions kept" if found else "empty; the first run compiles"
    return Health(ok=True, message=message)


def _plugins(host: PluginHost) -> Health:
    if not host.broken:
        return Health(ok=True, message=f"{len(host.loaded)} plugins loaded, none broken")
    causes = "; ".join(f"{b.source.plugin} ({b.source}): {b.cause}" for b in host.broken)
    culprits = ", ".join(b.source.distribution or b.source.file for b in host.broken)
    remedy = f"upgrade or uninstall {culprits}, or name it in WFBENCH_BLOCK_PLUGINS"
    return Health(ok=False, message=f"{len(host.broken)} broken: {causes}", remedy=remedy)
