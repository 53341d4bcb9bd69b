"""JUnit XML for CI systems: one suite per section, one case per check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from wfbench.report.document import Check, Report, Section, count_outcomes

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def render_junit(report: Report) -> str:
    """Return the checks of the report as JUnit XML; undecided ones are skipped cases."""
    checks = [check for section in report.sections for check in section.cases]
    root = ET.Element("testsuites", {"name": _text(f"wfbench: {report.title}"), **_counts(checks)})
    for section in report.sections:
        _suite(root, section)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, section: Section) -> None:
    counts = _counts(section.cases)
    suite = ET.SubElement(root, "testsuite", {"name": _text(section.title), **counts})
    for check in section.cases:
        case = ET.SubElement(suite, "testcase", classname=section.kind, name=_text(check.name))
        if check.outcome == "bad":
            kind = "error" if check.error else "failure"
            ET.SubElement(case, kind, message=_text(check.says))
        elif check.outcome == "open":
            ET.SubElement(case, "skipped", message=_text(check.says))
        else:
            ET.SubElement(case, "system-out").text = _text(check.says)


def _counts(checks: Sequence[Check]) -> dict[str, str]:
    found, errors = count_outcomes(checks), sum(check.error for check in checks)
    return {
        "tests": str(len(checks)),
        "failures": str(found["bad"] - errors),
        "errors": str(errors),
        "skipped": str(found["open"]),
    }


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
