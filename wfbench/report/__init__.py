"""Reports: data becomes sections, and formats show sections.

`sections` turns what a verb found into a `Section`, `show` prints it in the terminal, and the
`formats` write it as HTML, Markdown, CSV or JUnit XML. A format computes nothing.
"""

from __future__ import annotations

from datetime import datetime

from wfbench import __version__

from .document import Report, Section


def make_report(*sections: Section, title: str | None = None) -> Report:
    """Return a report of sections, dated now."""
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    return Report(title or sections[0].title, now, __version__, sections)


def show(shown: Report | Section) -> None:
    """Print a report or a section in the terminal."""
    from .console import console
    from .formats.terminal import show_report

    whole = make_report(shown) if isinstance(shown, Section) else shown
    show_report(whole, console())
