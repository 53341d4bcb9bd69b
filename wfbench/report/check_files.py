"""A check for machines and pull requests: `verdict.json`, JUnit XML and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from wfbench.bench.checking import CellVerdict, Check
from wfbench.bench.verdicts import Verdict
from wfbench.report.check import headline, remarks, row
from wfbench.store.files import write_whole

_SYMBOLS = {
    Verdict.REGRESSED: "**regressed**",
    Verdict.IMPROVED: "improved",
}


def write_junit(path: Path, check: Check, *, inconclusive_fails: bool) -> None:
    """One test case per cell, as CI systems show them."""
    suite = Xml.Element("testsuite", name=f"wfbench check {check.baseline}")
    counts = {"failure": 0, "error": 0, "skipped": 0}
    for cell in check.cells:
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=f"wfbench.check.{check.baseline}",
            name=_printable(f"{cell.label}, {cell.n_envs} envs"),
        )
        outcome = _outcome(cell, inconclusive_fails=inconclusive_fails)
        if outcome is not None:
            counts[outcome] += 1
            why = "; ".join(cell.failures) or f"{cell.verdict}: {cell.why}"
            Xml.SubElement(case, outcome, message=_printable(why))
    for work in check.unequal:
        counts["error"] += 1
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=f"wfbench.check.{check.baseline}",
            name=f"equal work, {work.n_envs} envs",
        )
        message = f"{', '.join(work.odd)} collected other transitions than {work.labels[0]}"
        Xml.SubElement(case, "error", message=_printable(message))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    root = Xml.Element("testsuites")
    root.append(suite)
    write_whole(path, Xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def markdown(check: Check, notes: Sequence[str]) -> str:
    """A pull-request comment: the outcome first, then the figures."""
    head = ("collector", "envs", "x reference then", "now", "change", "p", "CPU", "verdict")
    lines = [
        f"### wfbench check: {_cell(headline(check))}",
        "",
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
    ]
    for cell in check.cells:
        *figures, verdict = row(cell)
        shown = verdict if cell.failures else _SYMBOLS.get(cell.verdict, verdict)
        lines.append(f"| {' | '.join([*map(_cell, figures), shown])} |")
    said = [*remarks(check), *notes]
    lines += ["", *(f"- {_cell(line)}" for line in said)] if said else []
    lines += [
        "",
        (
            f"Baseline `{check.baseline}`, reference {_cell(check.reference)}. The change is that "
            "of the ratio to the reference, with a 95 % interval; a slow-down is measured twice "
            "before it counts."
        ),
    ]
    return "\n".join(lines) + "\n"


def _outcome(cell: CellVerdict, *, inconclusive_fails: bool) -> str | None:
    if cell.failures:
        return "error"
    if cell.verdict is Verdict.REGRESSED:
        return "failure"
    if cell.verdict is Verdict.INCONCLUSIVE:
        return "failure" if inconclusive_fails else "skipped"
    return "skipped" if cell.verdict is Verdict.NOT_COMPARABLE else None


def _cell(text: str) -> str:
    """Text that a plugin may have chosen, as one harmless line of Markdown."""
    flat = " ".join(text.split())
    for mark in "\\`*_[]<>|@#":
        flat = flat.replace(mark, f"&#{ord(mark)};" if mark in "<>@|" else f"\\{mark}")
    return flat


def _printable(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(c if c.isprintable() else " " for c in text)
