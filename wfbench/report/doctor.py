"""The table of `wfbench doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.doctor import Finding
from wfbench.report.console import console, plain_table


def show_findings(findings: Sequence[Finding]) -> None:
    """One line per check, then what to do about each that is not well."""
    out = console()
    table = plain_table("check", "", "found")
    for finding in findings:
        table.add_row(finding.name, "ok" if finding.ok else "bad", finding.message)
    out.print(table)
    for finding in findings:
        if finding.fixed:
            out.print(f"fixed {finding.name}: {finding.fixed}", soft_wrap=True)
        if not finding.ok and finding.remedy:
            out.print(f"to mend {finding.name}: {finding.remedy}", style="yellow", soft_wrap=True)
