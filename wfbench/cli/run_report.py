"""The report that a run leaves in its directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wfbench.contract import WfbenchError
from wfbench.plugins import PluginHost
from wfbench.report.console import warn

REPORT_FILE = "report.html"


def write_run_report(host: PluginHost, searches: Sequence[Any]) -> Path | None:
    """Write `report.html` beside what it shows; where it is.

    A run that went well is not spoilt by a page that cannot be written: that is only told.
    """
    from wfbench.report.formats.html import render_html
    from wfbench.report.sections.sources import Sources
    from wfbench.store.files import write_whole

    first = searches[0].store.path
    run = first if len(searches) == 1 else first.parent
    path: Path = run / REPORT_FILE
    try:
        write_whole(path, render_html(Sources(Path(), host).report([str(run)])).encode())
    except WfbenchError as error:
        warn(f"there is no report: {error}")
        return None
    return path
