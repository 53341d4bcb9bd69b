"""`wfbench.plugins`, `check_plugin` and `doctor`: what is installed, and whether it works."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wfbench.api.hosting import command_line, plugin_host
from wfbench.api.results import Options, Progress, Result, Rows, Values, Watcher
from wfbench.contract import CollectorSpec, ExitCode, FactorySpec, UsageError, load_object
from wfbench.host.hookspecs import KINDS
from wfbench.host.manager import Offer, PluginRow
from wfbench.report.console import console
from wfbench.report.sections import plugins as sections
from wfbench.settings.selection import Choice, Selector, parse_selector, select

if TYPE_CHECKING:
    from wfbench.host.doctor import HealthFinding
    from wfbench.report.document import Section
    from wfbench.testing.fault_watch import FaultSeen
    from wfbench.testing.promise import PromiseResult

_CHECKED = ("env", "collector", "trainer", "searcher")
"""The kinds whose promises can be checked."""


class PluginList(Result, schema="plugins-list/1", listed="plugins"):
    """Every plugin: what it offers, where it comes from, whether it works."""

    plugins: tuple[PluginRow, ...]

    def __iter__(self) -> Iterator[PluginRow]:
        return iter(self.plugins)

    def __len__(self) -> int:
        return len(self.plugins)

    def _rows(self) -> Rows:
        return [asdict(row) for row in self.plugins]

    def _sections(self) -> Sequence[Section]:
        return [sections.inventory_section(self.plugins)]


class PluginDetails(Result, schema="plugins-show/1", listed="plugins"):
    """Options, capabilities and origin of plugins of one name."""

    offers: tuple[Offer, ...]

    def _rows(self) -> Rows:
        return [sections.offer_data(offer) for offer in self.offers]

    def _sections(self) -> Sequence[Section]:
        return [sections.offer_section(offer) for offer in self.offers]


class PluginCheckResult(Result, schema="plugins-check/1", listed="promises"):
    """Which promises of the contract plugins keep."""

    checked: tuple[tuple[FactorySpec, tuple[PromiseResult, ...]], ...]
    """Every plugin with its promises."""

    @property
    def broken(self) -> int:
        """How many promises are broken."""
        return sum(promise.broken for _, promises in self.checked for promise in promises)

    @property
    def exit_code(self) -> ExitCode:
        """PLUGIN if a promise is broken."""
        return ExitCode.PLUGIN if self.broken else ExitCode.OK

    def _rows(self) -> Rows:
        return [sections.promise_data(spec, one) for spec, kept in self.checked for one in kept]

    def show(self) -> None:
        """Print every promise, and how many are kept."""
        for section in self._sections():
            for one in section.checks:
                console().print(one.says, soft_wrap=True)
            says = f"{section.title}: {section.headline.says}"
            console().print(says, style="bold", soft_wrap=True)

    def _sections(self) -> Sequence[Section]:
        return [sections.promises_section(spec, promises) for spec, promises in self.checked]


class FaultsResult(Result, schema="plugins-faults/1"):
    """What a caller sees of the same faults in several collectors."""

    seen: tuple[FaultSeen, ...]
    sources: dict[str, str]

    def _values(self) -> Values:
        return sections.faults_data(self.seen, self.sources)

    def _rows(self) -> Rows:
        return [asdict(one) for one in self.seen]

    def show(self) -> None:
        """Print the table as Markdown."""
        sys.stdout.write(self.report("md"))

    def _sections(self) -> Sequence[Section]:
        command = shlex.join(["wfbench", *command_line()])
        return [sections.faults_section(self.seen, self.sources, command)]


class HealthResult(Result, schema="doctor/1", listed="findings"):
    """What is wrong with this machine and installation, and how to fix it."""

    findings: tuple[HealthFinding, ...]

    @property
    def exit_code(self) -> ExitCode:
        """TRIAL_FAILED if something is not well."""
        well = all(finding.ok for finding in self.findings)
        return ExitCode.OK if well else ExitCode.TRIAL_FAILED

    def _rows(self) -> Rows:
        return [asdict(finding) for finding in self.findings]

    def _sections(self) -> Sequence[Section]:
        from wfbench.report.sections.settings import doctor_section

        return [doctor_section(self.findings)]


def plugins(kind: str | None = None) -> PluginList:
    """List the plugins: environments, collectors, trainers, searchers, ...

    kind: only this kind, such as "collector".

    Example: [row.name for row in wfbench.plugins("collector")]
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"--kind {kind}: choose from {', '.join(KINDS)}")
    rows = plugin_host().inventory()
    return PluginList(tuple(row for row in rows if kind is None or row.kind == kind))


def plugin_details(name: str) -> PluginDetails:
    """Return options, capabilities and origin of the plugins of this name.

    Example: wfbench.plugin_details("shm").show()
    """
    return PluginDetails(tuple(plugin_host().named(name)))


def check_plugin(
    *plugins: Selector,
    kind: str = "collector",
    options: Options | None = None,
    progress: Watcher | None = None,
) -> PluginCheckResult:
    """Test whether plugins keep the promises of the contract.

    plugins: names such as "shm:workers=2", or classes of your own.
    kind: what a class is: "collector", "env", "trainer" or "searcher".

    Each promise is tested in another process with a deadline, so a plugin may hang or crash.

    Example: wfbench.check_plugin(MyCollector).show()
    """
    if not plugins:
        raise UsageError("name what to check; `wfbench plugins list` shows what there is")
    chosen = [choice for one in plugins for choice in _choices(one, kind, options)]
    return PluginCheckResult(tuple((choice.spec, _promises(choice, progress)) for choice in chosen))


def check_faults(
    collector: Sequence[Selector] = ("all",),
    *,
    fault: Sequence[str] = (),
    options: Options | None = None,
    to: str | Path | None = None,
    progress: Watcher | None = None,
) -> FaultsResult:
    """Inject the same faults into collectors and record what a caller sees.

    fault: only these, such as "kill@3". to: a directory to write faults.md and faults.json into.

    Example: wfbench.check_faults(["shm", "pipe"], fault=["raise@3"]).rows()
    """
    from wfbench.store.files import write_json, write_whole
    from wfbench.testing.fault_watch import FAULTS, watch_faults

    unknown = sorted(set(fault) - set(FAULTS))
    if unknown:
        raise UsageError(f"--fault {unknown[0]} is not known; choose from {', '.join(FAULTS)}")
    if to is not None and not Path(to).is_dir():
        raise UsageError(f"--to {to}: there is no such directory")
    chosen = select(plugin_host(), {"collector": list(collector)}, options)["collector"]
    subjects = [choice for choice in chosen if "batched-only" not in choice.spec.capabilities]
    cases = [(cast("CollectorSpec", choice.spec), choice.options) for choice in subjects]
    wanted = tuple(fault) or tuple(FAULTS)
    seen: list[FaultSeen] = []

    def record(one: FaultSeen) -> None:
        seen.append(one)
        if progress is not None:
            text = f"{one.collector}  {FAULTS[one.fault]}: {sections.fault_text(one)}"
            progress(Progress(len(seen), len(cases) * len(wanted), text, one))

    watch_faults(cases, wanted, progress=record)
    sources = {choice.spec.name: choice.offer.source.with_libraries() for choice in subjects}
    found = FaultsResult(tuple(seen), sources)
    if to is not None:
        write_whole(Path(to) / "faults.md", found.report("md").encode())
        write_json(Path(to) / "faults.json", found.schema, found.to_dict())
    return found


def doctor(*, fix: bool = False) -> HealthResult:
    """Check this machine and the plugins; `fix`: apply the remedies that are safe.

    Example: wfbench.doctor().show()
    """
    from wfbench.host.doctor import examine

    return HealthResult(tuple(examine(plugin_host(), fix=fix)))


def _choices(plugin: Selector, kind: str, options: Options | None) -> list[Choice]:
    host = plugin_host()
    if not isinstance(plugin, str):
        return list(select(host, {kind: [plugin]}, options)[kind])
    name = parse_selector(plugin)[0]
    subjects = [offer.spec for offer in host.named(name) if offer.spec.kind in _CHECKED]
    if not subjects:
        raise UsageError(f"{plugin!r} is of a kind that makes no promises to check")
    chosen: list[Choice] = []
    for spec in subjects:
        wanted = {spec.kind: [plugin.replace(name, spec.name, 1)]}
        chosen += select(host, wanted, options)[spec.kind]
    return chosen


def _promises(choice: Choice, progress: Watcher | None) -> tuple[PromiseResult, ...]:
    found: list[PromiseResult] = []

    def record(promise: PromiseResult) -> None:
        found.append(promise)
        if progress is not None:
            progress(Progress(len(found), 0, sections.promise_line(promise), promise))

    check = load_object(f"wfbench.testing:check_{choice.spec.kind}")
    return tuple(check(choice.spec, choice.options, progress=record))
