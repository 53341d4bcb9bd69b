"""Which documented claims hold on this machine: `wfbench reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from wfbench.benchmarks.reproduce.model import ClaimResult, Reproduction, write_reproduction
from wfbench.contract import FindingTable
from wfbench.report import document as doc
from wfbench.report.formats.html import standalone_svg
from wfbench.report.formats.markdown import whole_markdown
from wfbench.report.written import duration
from wfbench.store.files import write_whole

from .common import facts, machine_facts, table

_OUTCOMES: Mapping[str, doc.Outcome] = {"reproduced": "good", "not reproduced": "bad"}
"""Every other verdict leaves it undecided."""
_QUIET = 0.5
"""Load per core up to which a machine counts as quiet."""


def reproduction_section(found: Reproduction) -> doc.Section:
    """Return the claims with their verdicts, and the tables of their findings."""
    checks = tuple(map(_check, found.claims))
    held = sum(check.outcome == "good" for check in checks)
    quick = "quick: smaller than documented, and less certain; " if found.quick else ""
    counted = f"{held} of {len(checks)} claims are reproduced"
    told = [*(claim.finding.headline for claim in found.claims if claim.finding), counted]
    first, *others = filter(None, told)
    return doc.Section(
        title="Documented claims",
        kind="reproduction",
        headline=doc.Check("claims", "bad" if found.failed else "good", f"{quick}{first}"),
        checks=checks,
        figures=facts({"seed": found.seed, "time": duration(found.seconds)}),
        facts=(doc.Fact("started", found.created), *machine_facts(found.machine)),
        exhibits=(_claims(found), *_tables(found)),
        notes=tuple(_notes(found)),
        conclusion=tuple(others),
    )


def write_reproduction_files(folder: Path, found: Reproduction) -> list[Path]:
    """Write `reproduction.json`, `.md` and, if factors were measured, `.svg`; return the paths."""
    data, text = folder / "reproduction.json", folder / "reproduction.md"
    write_reproduction(data, found)
    write_whole(text, reproduction_markdown(found).encode())
    for exhibit in _tables(found):
        if exhibit.picture is not None:
            picture = folder / "reproduction.svg"
            write_whole(picture, standalone_svg(exhibit).encode())
            return [data, text, picture]
    return [data, text]


def reproduction_markdown(found: Reproduction) -> str:
    """Return everything that was found as Markdown, dated as the reproduction is."""
    section = reproduction_section(found)
    version = str(found.machine.get("wfbench", ""))
    return whole_markdown(doc.Report(section.title, found.created, version, (section,)))


def _verdict(claim: ClaimResult) -> tuple[str, str]:
    """Return what was found, and why."""
    found = claim.finding
    return ("failed", str(claim.failure)) if found is None else (found.judged, found.why)


def _check(claim: ClaimResult) -> doc.Check:
    verdict, why = _verdict(claim)
    failed = claim.finding is None
    outcome = "bad" if claim.finding is None else _OUTCOMES.get(claim.finding.verdict, "open")
    return doc.Check(claim.name, outcome, f"{verdict}: {why}", error=failed)


def _claims(found: Reproduction) -> doc.Exhibit:
    rows = []
    for claim in found.claims:
        source = f"; {claim.source}" if claim.source else ""
        measurements = ", ".join(map(str, claim.measurements))
        rows.append(
            (
                claim.name,
                claim.number or None,
                claim.summary,
                f"{claim.documented} ({claim.conditions}{source})",
                None if claim.finding is None else claim.finding.measured,
                *_verdict(claim),
                f"{measurements} ({claim.seconds:.0f} s)" if measurements else None,
            )
        )
    heads = "claim | # | summary | documented | measured | verdict | why | measurements"
    return doc.Exhibit(
        title="Which documented claims hold here?",
        reading="Each claim as it is documented, and what the same measurement gives here. Figures "
        "in brackets are 95 % intervals over rounds. How each claim is tested is described in "
        "docs/reproduction.md; every sample is in reproduction.json.",
        table=table(heads, rows),
        command=found.command,
    )


def _tables(found: Reproduction) -> Iterator[doc.Exhibit]:
    for claim in found.claims:
        for part in () if claim.finding is None else claim.finding.tables:
            yield _exhibit(f"{claim.name}: {part.title}", part, found.command)


def _exhibit(title: str, part: FindingTable, command: str) -> doc.Exhibit:
    """Return a table of a finding; factors are drawn."""
    heads = [doc.Column(name) for name in part.columns]
    if not part.factors:
        return doc.Exhibit(title, "", table(heads, part.rows), command)
    group, label, factor, low, high = part.columns
    heads[2] = doc.Column(factor, "x", interval=(low, high))
    reading = "A factor above 1 is a gain; the axis is logarithmic."
    picture = doc.Bars(label, factor, low, high, group=group, log=True)
    return doc.Exhibit(title, reading, doc.Table(tuple(heads), part.rows), command, picture)


def _notes(found: Reproduction) -> Iterator[str]:
    for claim in found.claims:
        if claim.finding is not None and claim.finding.scaled:
            yield f"{claim.name} was scaled: {'; '.join(claim.finding.scaled)}"
    load, cores = found.machine.get("load"), found.machine.get("usable_cores")
    if load and cores and load[0] > _QUIET * cores:
        yield (
            f"The minute before this began had a load of {load[0]:.1f} on {cores} cores: if that "
            "went on, times are longer and ratios less certain than on a quiet machine."
        )
