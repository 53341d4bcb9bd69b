"""Sections as text in which every word, number and kind of picture can be seen."""

from __future__ import annotations

from wfbench.report.document import Report, Section
from wfbench.report.formats.markdown import render_markdown


def dated(*sections: Section) -> Report:
    """Return a report that is always of the same day."""
    return Report("Known", "2026-01-01T00:00:00+00:00", "1.0", sections)


def page(*sections: Section) -> str:
    """Return sections in Markdown, and what that does not show.

    How tables would be drawn, which checks broke off, and what to do next.
    """
    drawn = [repr(exhibit.picture) for one in sections for exhibit in one.exhibits]
    broken = [f"error: {check.name}" for one in sections for check in one.checks if check.error]
    after = [f"after {one.title}: {said}" for one in sections for said in one.afterwards]
    return "\n".join([render_markdown(dated(*sections)), *drawn, *broken, *after])
