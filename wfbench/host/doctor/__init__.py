"""Health checks of the machine and the installation, ours and those of plugins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from wfbench.contract import Health, HealthCheckSpec
from wfbench.host.doctor import installation, leftovers, machine
from wfbench.host.manager import PluginHost


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
    return [_examine(check, fix=fix) for check in _checks(host)]


def _checks(host: PluginHost) -> list[HealthCheckSpec]:
    spec = HealthCheckSpec
    ours = [
        spec(name="cores", summary="Processor cores", check=machine.cores),
        spec(name="memory", summary="Free memory", check=machine.memory),
        spec(name="shared-memory", summary="Room for shared arrays", check=machine.shared_memory),
        spec(name="threads", summary="Thread settings", check=machine.threads),
        spec(
            name="segments",
            summary="Shared memory of dead runs",
            check=leftovers.segments,
            fix=leftovers.remove_segments,
        ),
        spec(
            name="workers",
            summary="Workers of dead runs",
            check=leftovers.workers,
            fix=leftovers.end_workers,
        ),
        spec(
            name="kernel-cache",
            summary="Compiled kernels",
            check=partial(installation.kernel_cache, host),
        ),
        spec(name="plugins", summary="Plugins", check=partial(installation.plugins, host)),
    ]
    return ours + [cast("HealthCheckSpec", offer.spec) for offer in host.offers("health-check")]


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
