"""JUnit XML: one suite per section, one case per check, for whatever reads test results."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from wfbench.report.document import Check, Report, Section, count_outcomes

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def render_junit(report: Report) -> str:
    """The checks of the report as JUnit XML; open ones are skipped cases."""
    checks = [check for _, check in report.checks()]
    root = ET.Element("testsuites", {"name": _text(f"wfbench: {report.title}"), **_counts(checks)})
    for section in report.sections:
        _suite(root, section)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, section: Section) -> None:
    checks = [section.headline, *section.checks]
    suite = ET.SubElement(root, "testsuite", {"name": _text(section.title), **_counts(checks)})
    for check in checks:
        case = ET.SubElement(suite, "testcase", classname=section.kind, name=_text(check.name))
        if check.outcome == "bad":
            ET.SubElement(case, "failure", message=_text(check.says))
        elif check.outcome == "open":
            ET.SubElement(case, "skipped", message=_text(check.says))
        else:
            ET.SubElement(case, "system-out").text = _text(check.says)


def _counts(checks: list[Check]) -> dict[str, str]:
    found = count_outcomes(checks)
    return {
        "tests": str(len(checks)),
        "failures": str(found["bad"]),
        "errors": "0",
        "skipped": str(found["open"]),
    }


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
