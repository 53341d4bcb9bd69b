"""A check for machines and pull requests: `verdict.json`, JUnit XML and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as Xml

from wfbench.bench.checking import Check
from wfbench.bench.verdicts import Verdict
from wfbench.report.check import headline, remarks, row
from wfbench.store.files import write_whole

_SYMBOLS = {
    Verdict.REGRESSED: "**regressed**",
    Verdict.IMPROVED: "improved",
}


@dataclass(frozen=True)
class Outcome:
    """One line of a test report: what was tested, how it went, and why."""

    name: str
    kind: Literal["passed", "failure", "error", "skipped"]
    why: str = ""


def write_junit(path: Path, suite_name: str, outcomes: Sequence[Outcome]) -> None:
    """JUnit XML, as CI systems show it."""
    suite = Xml.Element("testsuite", name=f"wfbench check {suite_name}", tests=str(len(outcomes)))
    for kind, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(count, str(sum(one.kind == kind for one in outcomes)))
    for one in outcomes:
        case = Xml.SubElement(
            suite, "testcase", classname=f"wfbench.check.{suite_name}", name=_printable(one.name)
        )
        if one.kind != "passed":
            Xml.SubElement(case, one.kind, message=_printable(one.why))
    root = Xml.Element("testsuites")
    root.append(suite)
    write_whole(path, Xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def outcomes_of(check: Check, *, inconclusive_fails: bool) -> list[Outcome]:
    """One for each cell, and one wherever collectors did not collect the same."""
    cells = [
        Outcome(
            f"{cell.label}, {cell.n_envs} envs",
            "error" if cell.failures else outcome_of(cell.verdict, fails=inconclusive_fails),
            "; ".join(cell.failures) or f"{cell.verdict}: {cell.why}",
        )
        for cell in check.cells
    ]
    return cells + [
        Outcome(
            f"equal work, {work.n_envs} envs",
            "error",
            f"{', '.join(work.odd)} collected other transitions than {work.labels[0]}",
        )
        for work in check.unequal
    ]


def outcome_of(
    verdict: Verdict, *, fails: bool
) -> Literal["passed", "failure", "error", "skipped"]:
    """What a verdict is in the words of a test report; `fails`: inconclusive is a failure."""
    if verdict is Verdict.REGRESSED:
        return "failure"
    if verdict is Verdict.INCONCLUSIVE:
        return "failure" if fails else "skipped"
    return "skipped" if verdict is Verdict.NOT_COMPARABLE else "passed"


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


def _cell(text: str) -> str:
    """Text that a plugin may have chosen, as one harmless line of Markdown."""
    flat = " ".join(text.split())
    for mark in "\\`*_[]<>|@#":
        flat = flat.replace(mark, f"&#{ord(mark)};" if mark in "<>@|" else f"\\{mark}")
    return flat


def _printable(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(c if c.isprintable() else " " for c in text)
