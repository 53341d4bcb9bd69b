"""Sections as text in which every word, number and kind of picture can be seen."""

from __future__ import annotations

from wfbench.report.document import Report, Section
from wfbench.report.formats.markdown import render_markdown


def dated(*sections: Section) -> Report:
    """Return a report that is always of the same day."""
    return Report("Known", "2026-01-01T00:00:00+00:00", "1.0", sections)


def page(*sections: Section) -> str:
    """Return sections in Markdown, how their tables would be drawn, and which checks broke off."""
    drawn = [repr(exhibit.picture) for one in sections for exhibit in one.exhibits]
    broken = [f"error: {check.name}" for one in sections for check in one.checks if check.error]
    return "\n".join([render_markdown(dated(*sections)), *drawn, *broken])
